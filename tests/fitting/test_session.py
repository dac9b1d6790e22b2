"""What the stages of a fit share: the callback, shares of the time, and the journal."""

from fitting_cases import NOISY, options_of, samples_of
from intensor.fitting.journal import Journal
from intensor.fitting.session import Session
from intensor.runtime.budget import Budget
from intensor.solver.result import Progress

PROGRESS = Progress(1, "local", 2, 0.5, 0.25, 0.1, 0.1, 0.0, "radius 3.2")


def opened(callback=None, *, budget=None, **options):
    return Session(
        samples_of(NOISY).in_order(),
        options_of(**options),
        budget=budget or Budget(),
        journal=Journal(None),
        callback=callback,
    )


def test_progress_is_passed_on_until_the_callback_returns_false():
    heard = []
    answers = iter([None, True, False, True])

    def callback(progress):
        heard.append(progress)
        return next(answers)

    session = opened(callback)
    assert session.report(PROGRESS)
    assert session.report(PROGRESS)
    assert not session.stopped
    assert not session.report(PROGRESS)
    assert session.stopped
    assert session.choosing.spent
    assert not session.budget.spent  # the last fit may still use what there is
    assert not session.report(PROGRESS)  # there is no way back
    assert heard == [PROGRESS] * 4
    assert opened().report(PROGRESS)


def test_scales_are_named_where_there_are_several():
    stages = []
    session = opened(lambda progress: stages.append(progress.stage), transform="auto")
    for scale in session.options.scales[:2]:
        assert session.callback_for(scale)(PROGRESS)
    assert stages == ["none, none, radius 3.2", "sqrt, none, radius 3.2"]
    single = opened(lambda progress: stages.append(progress.stage))
    single.callback_for(single.options.scales[0])(PROGRESS)
    assert stages[-1] == "radius 3.2"
    both = opened(lambda progress: stages.append(progress.stage), components="auto")
    both.callback_for(both.options.scales[0])(PROGRESS)
    assert stages[-1] == "none, none, graded, radius 3.2"


def test_a_share_of_the_time_ends_with_the_choosing():
    session = opened(budget=Budget(100.0), time_limit=100.0)
    share = session.reserve("walking", 0.5)
    assert 49.0 < share.remaining <= 50.0
    session.choosing.interrupted = True
    assert share.spent
    assert not opened().reserve("walking", 0.5).spent  # without a limit there is no end
