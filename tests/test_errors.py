"""The tree of exceptions and warnings."""

from intensor import errors


def test_every_error_is_ours_and_an_ordinary_one_too():
    raised = [getattr(errors, name) for name in errors.__all__]
    wrong = [kind for kind in raised if not issubclass(kind, (errors.IntensorError, Warning))]
    assert wrong == []
    for kind in (errors.CoordinateError, errors.NegativeValueError, errors.UnknownVersionError):
        assert issubclass(kind, ValueError)
    assert issubclass(errors.NegativeValueError, errors.ValuesError)
    assert issubclass(errors.DenseTooLargeError, MemoryError)
    assert issubclass(errors.SolverUnavailableError, ImportError)
    assert issubclass(errors.RadiusWarning, errors.IntensorWarning)
