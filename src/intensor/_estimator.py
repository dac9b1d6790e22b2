"""``intensor.TensorCompleter``: the scikit-learn estimator."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.data.checks import check_coords
from intensor.data.labels import Labels, number_labels
from intensor.errors import CoordinateError, NegativeValueError
from intensor.fitting.fit import fit
from intensor.fitting.options import fit_options
from intensor.options import declared
from intensor.options.declared import TransformPair
from intensor.options.option import documented
from intensor.solver.loop import Callback
from intensor.solver.progress import show_progress

MAX_INDEX = 2**53
"""Largest index; up to here float64 holds every integer exactly."""
FIT_PARAMETERS = [
    (declared.RANDOM_STATE if option is declared.SEED else option).name
    for option in declared.FIT_OPTIONS
]
"""Parameters of the estimator that are options of the fit."""


@documented(declared.ESTIMATOR_OPTIONS)
class TensorCompleter(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Complete a partially observed nonnegative tensor.

    A row of ``X`` is a cell: one integer per mode, counted from 0. The entry of ``y`` is the value
    that was observed there. Cells may repeat; cells that are not listed are missing and can be
    predicted. What is not given is chosen on held-out cells, and the prediction is a blend of the
    candidates that are good together; a given radius asks for one problem and its proof. To use
    labels, put scikit-learn's ``OrdinalEncoder`` before it in a pipeline, with
    ``handle_unknown="use_encoded_value", unknown_value=-1``.

    Parameters
    ----------
    {options}

    Attributes
    ----------
    fit_
        The ``Fit``: predictor, certificate, validation; it can ``verify`` and ``save``.
    model_
        The boxes and components of the first member of the fit, in its fitted scale.
    radius_
        The radius that was used.
    objective_, bound_, gap_
        Mean squared error in the fitted scale, the proven lower bound for models of this radius,
        and their difference.
    status_
        Why the solver stopped; ``Status.OPTIMAL`` means that the proven gap is small.
    path_
        The radii that were tried and their errors; None if there was nothing to choose.
    shape_
        Lengths of the modes.
    n_iter_
        Iterations of the solver.
    n_features_in_, feature_names_in_
        Number of modes, and their names if ``X`` has any.

    Examples
    --------
    >>> import intensor
    >>> from intensor._estimator import TensorCompleter
    >>> data = intensor.planted((6, 6, 6), 150)
    >>> completer = TensorCompleter(radius=1.0).fit(data.coords, data.values)
    >>> completer.status_.name, completer.shape_
    ('WITHIN_TOLERANCE', (6, 6, 6))
    >>> completer.predict([[0, 1, 2], [5, 5, 5]]).shape
    (2,)
    >>> completer.score(data.coords, data.values) > 0.99
    True
    """

    def __init__(
        self,
        *,
        effort: str = declared.EFFORT.default,
        radius: float | str = declared.RADIUS.default,
        components: str = declared.COMPONENTS.default,
        max_components: int | None = declared.MAX_COMPONENTS.default,
        transform: str | TransformPair = declared.TRANSFORM.default,
        baseline: str = declared.BASELINE.default,
        remainder: str = declared.REMAINDER.default,
        n_solutions: int | str = declared.N_SOLUTIONS.default,
        validation: float | str = declared.VALIDATION.default,
        scoring: str = declared.SCORING.default,
        n_radii: int = declared.N_RADII.default,
        clip: tuple[float | None, float | None] | None = declared.CLIP.default,
        unseen: str = declared.UNSEEN.default,
        shape: Iterable[int] | None = declared.SHAPE.default,
        version: int | str = declared.VERSION.default,
        tol: float = declared.TOL.default,
        rtol: float | str = declared.RTOL.default,
        max_iterations: int | None = declared.MAX_ITERATIONS.default,
        time_limit: float | None = declared.TIME_LIMIT.default,
        random_state: Any = declared.RANDOM_STATE.default,
        threads: int | None = declared.THREADS.default,
        exact: str = declared.EXACT.default,
        device: str = declared.DEVICE.default,
        memory_limit: int | str | None = declared.MEMORY_LIMIT.default,
        client: Any = declared.CLIENT.default,
        callback: Callback | None = declared.CALLBACK.default,
        verbose: bool = declared.VERBOSE.default,
        checkpoint: str | PathLike[str] | None = declared.CHECKPOINT.default,
        checkpoint_every: float = declared.CHECKPOINT_EVERY.default,
        resume: bool = declared.RESUME.default,
    ) -> None:
        self.effort = effort
        self.radius = radius
        self.components = components
        self.max_components = max_components
        self.transform = transform
        self.baseline = baseline
        self.remainder = remainder
        self.n_solutions = n_solutions
        self.validation = validation
        self.scoring = scoring
        self.n_radii = n_radii
        self.clip = clip
        self.unseen = unseen
        self.shape = shape
        self.version = version
        self.tol = tol
        self.rtol = rtol
        self.max_iterations = max_iterations
        self.time_limit = time_limit
        self.random_state = random_state
        self.threads = threads
        self.exact = exact
        self.device = device
        self.memory_limit = memory_limit
        self.client = client
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.resume = resume

    @property
    def transform(self) -> Any:
        """Hidden: scikit-learn takes every object with a ``transform`` for a transformer."""
        raise AttributeError(
            "TensorCompleter is no transformer; the setting is get_params()['transform']"
        )

    @transform.setter
    def transform(self, option: Any) -> None:
        self.__dict__["transform"] = option

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options by name."""
        return {name: self.__dict__[name] for name in self._get_param_names()}

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803
        """Fit the tensor to observations.

        Parameters
        ----------
        X
            (n, p) integers counted from 0, a row per observation: an array, or a table, whose
            columns ``predict`` then expects by name and in this order.
        y
            (n,) values >= 0.
        sample_weight
            (n,) how much each observation counts; by default all the same.
        """
        started = time.perf_counter()
        declared.UNSEEN.check(self.unseen)
        declared.CALLBACK.check(self.callback)
        given = self.get_params()
        options = fit_options({name: given[name] for name in FIT_PARAMETERS})
        checked, values = validate_data(self, X, y, y_numeric=True, ensure_all_finite="allow-nan")
        if values.dtype.kind in "if" and values.min() < 0.0:
            row = int(np.argmin(values))
            raise NegativeValueError(
                f"y[{row}] is {values[row]}; expected values >= 0, since the tensor is nonnegative "
                "(clip or shift them)"
            )
        weights = None if sample_weight is None else np.asarray(sample_weight)
        _refuse_unknown_labels(checked)
        cells = _as_integers(checked)
        with show_progress(self.callback, verbose=declared.VERBOSE.check(self.verbose)) as callback:
            self.fit_ = fit(
                cells,
                values,
                options,
                shape=self.shape,
                sample_weight=weights,
                labels=self._labels(cells, y),
                callback=callback,
                client=self.client,
                spent=time.perf_counter() - started,
            )
        self.shape_ = self.fit_.shape
        self.model_ = self.fit_.model
        self.radius_ = self.fit_.radius
        self.objective_ = self.fit_.objective
        self.bound_ = self.fit_.bound
        self.gap_ = self.fit_.gap
        self.status_ = self.fit_.status
        self.path_ = self.fit_.path
        self.n_iter_ = max(1, self.fit_.result.counters.iterations)
        return self

    def predict(self, X: ArrayLike) -> FloatArray:  # noqa: N803
        """Return predictions, in the units of ``y``, never below 0 and within the range ``clip``.

        Parameters
        ----------
        X
            (n, p) cells: integers counted from 0. An index beyond those of the fit has no
            observations, and -1 and NaN, which encoders write for labels that they do not know,
            are read the same way: ``unseen`` says what happens.
        """
        check_is_fitted(self)
        unseen = declared.UNSEEN.check(self.unseen)
        checked = validate_data(self, X, reset=False, ensure_all_finite="allow-nan")
        return self.fit_.predict(_as_integers(checked), unseen=unseen)

    def _labels(self, cells: IndexArray, y: Any) -> Labels | None:
        """Return the names of the columns of ``X``, by which ``fit_`` then reads tables, or None.

        The labels of the indices are their numbers.
        """
        if not hasattr(self, "feature_names_in_"):
            return None
        _, shape = check_coords(cells, self.shape)
        modes = tuple(map(str, self.feature_names_in_))
        name = getattr(y, "name", None)
        value = name if isinstance(name, str) and name not in modes else "value"
        return replace(number_labels(shape, value=value), modes=modes)

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy with the same options; a client is shared, not copied."""
        given = self.get_params()
        client = given.pop("client")
        copies = {name: clone(value, safe=False) for name, value in given.items()}
        return type(self)(**copies, client=client)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.target_tags.positive_only = True
        tags.non_deterministic = self.random_state is None
        return tags


def _refuse_unknown_labels(array: AnyArray) -> None:
    """Raise if a row to fit has no label in some mode: NaN, -1 or another negative number."""
    if array.dtype.kind == "f" and np.isnan(array).any():
        row, mode = np.argwhere(np.isnan(array))[0].tolist()
        raise CoordinateError(
            f"Input X contains NaN: X[{row}, {mode}] is NaN, which says nothing about the cell of "
            "that row; expected indices counted from 0 (leave such rows out of the fit, or encode "
            "missing labels as an index of their own, e.g. with encoded_missing_value of "
            "OrdinalEncoder; NaN and -1 stand for labels that are not known in predict only)"
        )
    if array.dtype.kind != "b" and array.min() < 0:
        row, mode = np.argwhere(array < 0)[0].tolist()
        raise CoordinateError(
            f"Negative values in data passed as X: X[{row}, {mode}] is {array[row, mode]}; "
            "expected indices counted from 0 (-1 stands for a label that is not known in predict "
            "only; leave such rows out of the fit)"
        )


def _as_integers(array: AnyArray) -> IndexArray:
    """Return coordinates as integers, NaN as -1, or raise if one is neither an index nor unknown.

    Numbers below -1 are left to the fit, which refuses them.
    """
    if array.dtype.kind in "bi":
        return array.astype(np.int64, copy=False)
    cells = np.where(np.isnan(array), -1.0, array) if array.dtype.kind == "f" else array
    exact = (cells == np.rint(cells)) & (np.abs(cells) <= MAX_INDEX)
    if not exact.all():
        row, mode = np.argwhere(~exact)[0].tolist()
        raise CoordinateError(
            f"X[{row}, {mode}] is {array[row, mode]}; expected integers from 0 to 2^53, one "
            "per mode (turn labels into numbers first, e.g. with OrdinalEncoder in a pipeline), or "
            "in predict -1 or NaN for labels that are not known"
        )
    return cells.astype(np.int64)
