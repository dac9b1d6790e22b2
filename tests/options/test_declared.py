"""solve, complete, TensorCompleter and the commands say the same about every option."""

import inspect
from typing import get_type_hints

import numpy as np
import pytest
import typer

import intensor
from intensor.backends.select import devices
from intensor.cli.app import app
from intensor.errors import IntensorError
from intensor.fitting.options import fit_options
from intensor.fitting.scoring import SCORINGS
from intensor.model.transform import TRANSFORMS
from intensor.options import declared
from intensor.options.option import REQUIRED, NumberOrText, Option
from intensor.oracles.cascade import exact_choices
from intensor.solver.variants import VERSIONS
from public_surface import choices_of

SOLVE = inspect.signature(intensor.solve).parameters
COMPLETER = inspect.signature(intensor.TensorCompleter).parameters
COMPLETE = inspect.signature(intensor.complete).parameters
FIT = inspect.signature(intensor.fit).parameters
KEYWORDS = get_type_hints(declared.FitOptions)
COMMANDS = typer.main.get_command(app).commands
CALLBACKS = {command.name: command.callback for command in app.registered_commands}
DATA = {"coords", "values", "sample_weight", "data"}
"""Parameters that are data, not options."""
ALIAS = declared.RANDOM_STATE.name
"""The seed by the name that scikit-learn gives it; complete knows both."""


def names(options):
    return {option.name for option in options}


def empty_if_required(option):
    return inspect.Parameter.empty if option.default is REQUIRED else option.default


def test_solve_has_the_declared_options():
    assert set(SOLVE) - DATA == names(declared.SOLVE_OPTIONS)
    for option in declared.SOLVE_OPTIONS:
        assert SOLVE[option.name].default == empty_if_required(option), option.name


def test_the_estimator_has_the_declared_options():
    assert set(COMPLETER) == names(declared.ESTIMATOR_OPTIONS)
    for option in declared.ESTIMATOR_OPTIONS:
        assert COMPLETER[option.name].default == option.default, option.name


def test_complete_has_the_declared_options():
    explicit = set(COMPLETE) - DATA - {"options"}
    assert explicit | set(KEYWORDS) == names(declared.COMPLETE_OPTIONS) | {ALIAS}
    assert explicit & set(KEYWORDS) == set()
    assert set(KEYWORDS) == names(declared.FIT_OPTIONS) | {ALIAS}
    for option in declared.COMPLETE_OPTIONS:
        if option.name in explicit:
            assert COMPLETE[option.name].default == option.default, option.name


def test_fit_has_the_options_of_complete_but_those_of_filling():
    assert set(COMPLETE) - set(FIT) == {"cells", "unseen"}
    assert set(FIT) <= set(COMPLETE)
    for name, parameter in FIT.items():
        assert parameter.default == COMPLETE[name].default, name
    assert names(declared.COMPLETE_OPTIONS) - names(declared.DATA_OPTIONS) == {"cells", "unseen"}


@pytest.mark.parametrize(
    ("face", "options"),
    [
        (intensor.solve, declared.SOLVE_OPTIONS),
        (intensor.complete, declared.COMPLETE_OPTIONS),
        (intensor.fit, declared.DATA_OPTIONS),
        (intensor.TensorCompleter, declared.ESTIMATOR_OPTIONS),
    ],
    ids=["solve", "complete", "fit", "TensorCompleter"],
)
def test_docstrings_say_what_is_declared(face, options):
    text = " ".join(face.__doc__.split())
    for option in options:
        assert f" {option.name} {option.text} " in text, option.name


COMMAND_OPTIONS = {
    "fit": (declared.VALUE, declared.MODES, declared.WEIGHT, *declared.FIT_OPTIONS),
    "complete": (
        declared.VALUE,
        declared.MODES,
        declared.WEIGHT,
        declared.UNSEEN,
        *declared.FIT_OPTIONS,
    ),
    "predict": (declared.UNSEEN, declared.CLIP),
    "verify": (declared.VALUE, declared.WEIGHT),
    "report": (declared.VALUE, declared.WEIGHT),
}
OWN = {"output", "cells", "mark", "kind", "one_based", "quiet", "json", "debug"}
OWN |= {"data", "model", "like", "title"}
"""Parameters that only the commands have; their cells may also be chosen automatically."""
OWN_OF_COMMAND = {"verify": {"effort"}}
"""Those of one command; the effort of a check is a number of additions."""


@pytest.mark.parametrize("command", COMMAND_OPTIONS)
def test_commands_have_the_declared_options(command):
    shown = {option.name: option for option in COMMANDS[command].params}
    options = COMMAND_OPTIONS[command]
    assert set(shown) - OWN - OWN_OF_COMMAND.get(command, set()) == names(options)
    for option in options:
        found = shown[option.name]
        spelled = option.spellings or (f"--{option.name.replace('_', '-')}",)
        assert tuple(found.opts) == spelled
        number = option.type == NumberOrText and option.default is not None
        assert found.default == (str(option.default) if number else option.default), option.name
        assert found.help == option.summary
        if option.choices:
            hint = inspect.signature(CALLBACKS[command]).parameters[option.name].annotation
            assert tuple(choices_of(hint)) == option.choices


def test_options_that_differ_between_solve_and_a_fit_are_the_ones_that_a_fit_can_choose():
    shared = names(declared.SOLVE_OPTIONS) & names(declared.ESTIMATOR_OPTIONS)
    declarations = {option.name: option for option in declared.SOLVE_OPTIONS}
    differ = {
        option.name
        for option in declared.ESTIMATOR_OPTIONS
        if option.name in shared and option is not declarations[option.name]
    }
    assert differ == {"radius", "rtol", "components"}
    chosen = (declared.RADIUS, declared.RTOL, declared.COMPONENTS)
    assert [option.default for option in chosen] == ["auto"] * 3


def test_seed_and_random_state_are_the_same():
    assert declared.RANDOM_STATE.default == declared.SEED.default
    assert fit_options({"seed": 5}).solver.seed == fit_options({ALIAS: 5}).solver.seed == 5


def test_declared_choices_are_those_that_there_are():
    assert set(declared.EXACT.choices) == set(exact_choices())
    assert set(declared.DEVICE.choices) == set(devices())
    assert set(declared.SCORING.choices) == set(SCORINGS)
    assert set(declared.TRANSFORM.choices) == {*TRANSFORMS, "auto"}
    assert declared.VERSION.default in VERSIONS


EVERY = [value for value in vars(declared).values() if isinstance(value, Option)]


def test_every_declaration_is_complete():
    used = (*declared.SOLVE_OPTIONS, *declared.COMPLETE_OPTIONS, *declared.ESTIMATOR_OPTIONS)
    for option in EVERY:
        assert option.summary.endswith((".", ").")), option.name
        assert not option.details or option.details.endswith("."), option.name
        assert any(option is one for one in used), option.name
        if option.default is not REQUIRED and option.name != ALIAS:
            option.check(option.default)  # a default is valid
        if option.choices:
            assert option.default in option.choices, option.name


def test_bad_values_are_refused_alike_by_all_faces():
    coords, values = [[0, 0], [1, 1]], [1.0, 2.0]
    bad = {"tol": -1.0, "time_limit": 0, "threads": 0, "memory_limit": "much", "callback": "no"}
    bad |= {"max_iterations": -1, "exact": "off!", "device": "tpu", "version": 11, "resume": True}
    for name, value in bad.items():
        messages = set()
        for call in (
            lambda option: intensor.solve(coords, values, radius=1.0, **option),
            lambda option: intensor.TensorCompleter(**option).fit(coords, values),
            lambda option: intensor.complete(np.array([[1.0, np.nan]]), **option),
            lambda option: intensor.fit(np.array([[1.0, np.nan]]), **option),
        ):
            with pytest.raises(IntensorError) as caught:
                call({name: value})
            messages.add(f"{type(caught.value).__name__}: {caught.value}")
        assert len(messages) == 1, messages
