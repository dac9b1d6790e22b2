"""Every exception and warning that intensor raises on purpose.

::

    IntensorError
    ├── InputError (ValueError)          the call or the data must change
    │   ├── EmptyDataError               no observation at all
    │   ├── CoordinateError              coordinates of the wrong kind, form or range
    │   ├── ValuesError                  values of the wrong kind or form, NaN or infinite
    │   │   └── NegativeValueError       a value below zero without allow_negative=True
    │   ├── ShapeError                   a tensor shape that makes no sense
    │   ├── RadiusError                  a radius that is not a positive finite number
    │   ├── SettingError                 a setting out of its range
    │   ├── LabelError                   labels that are missing, ambiguous or not known
    │   │   └── UnseenIndexError         a prediction for an index without observations
    │   ├── FileFormatError              a file without the expected format or content
    │   │   ├── ModelFileError           a model file that is damaged, too new, or no model at all
    │   │   └── CheckpointError          a checkpoint that is damaged, or of another run
    │   └── UnknownVersionError          a version that is not in the table
    ├── MissingExtraError (ImportError)  an optional package that is not installed
    ├── DenseTooLargeError (MemoryError) a dense tensor that would not fit
    ├── ClusterError (RuntimeError)      a Dask cluster that cannot be used
    │   └── WorkerLostError              workers were lost, with data that cannot be loaded again
    ├── MemoryLimitError (MemoryError)   the data cannot be handled within the memory limit
    ├── DeviceError (RuntimeError)       a CUDA device was asked for and cannot be used
    │   └── DeviceMemoryError            it has too little memory
    ├── SolverUnavailableError (ImportError)  an optional solver that is missing or unlicensed
    └── SolverFailedError (RuntimeError) an outside solver broke down
    IntensorWarning (UserWarning)
    ├── CheckpointWarning                a checkpoint could not be written; the run goes on
    ├── EmptyModelWarning                a limit ended the run before its model had a useful box
    ├── ModeWarning                      a column that nobody named as a mode can hardly be one
    ├── RadiusWarning                    values above the radius cannot be reached
    ├── RemainderWarning                 a time limit left no time for kriging
    ├── UnseenIndexWarning               a prediction for an index without observations
    ├── NothingToFillWarning             complete was called on data without a missing cell
    └── ValidationWarning                a fit was not validated, or is no better than the mean

Each message says what was got, what was expected and what to do. Reaching a limit (time,
iterations, Ctrl-C) is not an error: it is the ``status`` of the result.
"""


class IntensorError(Exception):
    """Base of all errors of this library."""


class InputError(IntensorError, ValueError):
    """The call or the data must change before anything can be computed."""


class EmptyDataError(InputError):
    """There is no observation."""


class CoordinateError(InputError):
    """The coordinates are of the wrong kind, form or range."""


class ValuesError(InputError):
    """The values are of the wrong kind or form, or not finite."""


class NegativeValueError(ValuesError):
    """A value is below zero and ``allow_negative`` was not given."""


class ShapeError(InputError):
    """The tensor shape makes no sense."""


class RadiusError(InputError):
    """The radius is not a positive finite number."""


class SettingError(InputError):
    """A setting is out of its range."""


class LabelError(InputError):
    """Labels are missing, ambiguous or not known."""


class UnseenIndexError(LabelError):
    """A prediction is asked for an index that no observation was made of."""


class FileFormatError(InputError):
    """A file does not have the expected format or content, or cannot be read or written."""


class ModelFileError(FileFormatError):
    """A model file is damaged, was written by a newer version, or is no model file."""


class CheckpointError(FileFormatError):
    """A checkpoint is damaged, belongs to another run, or would be overwritten."""


class UnknownVersionError(InputError):
    """There is no version of that name."""


class MissingExtraError(IntensorError, ImportError):
    """An optional package is not installed."""


class DenseTooLargeError(IntensorError, MemoryError):
    """The dense tensor would not fit in memory."""


class ClusterError(IntensorError, RuntimeError):
    """A Dask cluster cannot be used."""


class WorkerLostError(ClusterError):
    """Workers were lost, and the data they held cannot be loaded again."""


class MemoryLimitError(IntensorError, MemoryError):
    """The data cannot be handled within the memory limit."""


class DeviceError(IntensorError, RuntimeError):
    """A CUDA device was asked for and cannot be used."""


class DeviceMemoryError(DeviceError):
    """The device has too little memory."""


class SolverUnavailableError(IntensorError, ImportError):
    """An optional solver is not installed, or its licence does not allow the model."""


class SolverFailedError(IntensorError, RuntimeError):
    """An outside solver broke down."""


class IntensorWarning(UserWarning):
    """Base of all warnings of this library."""


class CheckpointWarning(IntensorWarning):
    """A checkpoint could not be written: the run goes on, and the one before is still there."""


class EmptyModelWarning(IntensorWarning):
    """A limit ended the run before its model had a box, or one that is better than the mean."""


class ModeWarning(IntensorWarning):
    """A column became a mode because no modes were named, but it hardly looks like one."""


class RadiusWarning(IntensorWarning):
    """Some values lie above the radius: no model of that radius can reach them."""


class RemainderWarning(IntensorWarning):
    """A time limit left no time for kriging: the model predicts without a remainder."""


class UnseenIndexWarning(IntensorWarning):
    """A prediction for an index without observations is an average over its mode."""


class NothingToFillWarning(IntensorWarning):
    """The data has no missing cell, so there was nothing to complete."""


class ValidationWarning(IntensorWarning):
    """A fit could not be validated, or predicts held-out cells no better than their mean."""
