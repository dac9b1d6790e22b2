"""The tree of exceptions and warnings."""

from intensor import errors


def test_every_error_is_ours_and_an_ordinary_one_too():
    raised = [kind for name, kind in vars(errors).items() if not name.startswith("_")]
    assert len(raised) > 30
    assert all(issubclass(kind, (errors.IntensorError, errors.IntensorWarning)) for kind in raised)
    for kind in (errors.CoordinateError, errors.NegativeValueError, errors.UnknownVersionError):
        assert issubclass(kind, ValueError)
    assert issubclass(errors.NegativeValueError, errors.ValuesError)
    assert issubclass(errors.DenseTooLargeError, MemoryError)
    assert issubclass(errors.SolverUnavailableError, ImportError)
    assert issubclass(errors.RadiusWarning, errors.IntensorWarning)
