"""The scikit-learn estimator: coordinates and values in ``fit``, predictions of any cell after."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor._complete import fit_options
from intensor.data.labels import Labels, number_labels
from intensor.errors import CoordinateError, EmptyDataError, NegativeValueError
from intensor.fitting.entry import Watch, fit
from intensor.options.checks import check_coords
from intensor.options.unseen import as_unseen
from intensor.solver.checkpoint import EVERY

__all__ = ["TensorCompleter"]

LARGEST_INDEX = 2**53
"""Up to here every whole number has a float64 of its own."""


class TensorCompleter(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Complete a partially observed nonnegative tensor.

    A row of ``X`` is a cell: one whole number per mode, counted from 0. The value of ``y`` beside
    it was observed there. Cells may repeat; cells that are not listed are missing and can be
    predicted. Labels become numbers with scikit-learn's ``OrdinalEncoder`` in a pipeline.

    Parameters
    ----------
    radius
        Bound on the sum of the boxes' weights, which no prediction exceeds (in the fitted
        scale); "auto" chooses it by validation.
    transform
        Scale to fit in: "none", "sqrt", "log1p", a pair (function, inverse), or "auto".
    baseline
        "none", "additive" to take main effects out first, or "auto".
    remainder
        What to add to the boxes: "none", "kriging" for what cells that are alike say of each
        other, or "auto" for validation to say. Kriging needs a tensor that is small and not too
        sparse, and does not touch the certificate, which is that of the boxes.
    n_solutions
        Models, from different seeds, to average.
    validation
        Share of the cells to hold out (0.1), or number of folds (5). "auto" holds out a tenth,
        up to four times where that is few cells.
    scoring
        Validation error: "rmse", "mae", "mape", or "balanced", for which large and small values
        both count: the geometric mean of the RMSE and the mean squared difference of roots.
    n_radii
        Longest path of radii that "auto" may try.
    unseen
        What ``predict`` does about indices without an observation in ``fit``. "warn" and "mean"
        predict the average over the observed indices of that mode; "warn" also issues an
        ``UnseenIndexWarning``, "error" raises. Folds of a cross-validation often leave an index
        without observations: use "mean" there.
    shape
        Lengths of the modes; by default as long as the largest index of ``fit`` asks for.
    version
        Of the solver: "fast" or 0 to 10.
    tol, rtol
        The gap to reach is ``max(tol, rtol * mean(y^2))``, in the fitted scale. With "auto" it
        is chosen on held-out cells, from shares of their mean squared error, where enough were held
        out, and ``1e-4 * mean(y^2)`` elsewhere.
    max_iterations, time_limit
        Limits of a solve, and of the whole fit in seconds; None for none.
    random_state
        Seed: an integer, a ``RandomState`` or generator to draw it from, or None for another
        one each time.
    threads
        At most so many at a time; None for one per core.
    exact
        Exact oracle: "auto", "off", "enumeration", "branch" or the name of a solver.
    device
        Where to sum over cells: "cpu", "cuda" or "auto" (see ``solve``).
    client
        A ``distributed.Client``: folds, radii and scales of the validation are spread over its
        workers, and the cells of the last fit too where there are a million or more.
    callback
        Called with a word on what is being done and its ``Progress``; False ends the solve.
    checkpoint, checkpoint_every, resume
        A file to write the fit to as it goes, after how many seconds, and whether to go on from
        it if it is there (see ``solve``). A file is for one fit: searches over settings and
        cross-validation need one for each.

    Attributes
    ----------
    fit_
        The ``Fit``: predictor, certificate, validation; it can ``verify`` and ``save``.
    model_
        The boxes, in the fitted scale.
    radius_
        The radius that was used.
    objective_, bound_, gap_
        Mean squared error in the fitted scale, what no model of this radius gets below, and the
        difference.
    status_
        Why the solver stopped; only ``Status.OPTIMAL`` proves a gap within the tolerance.
    path_
        The radii that were tried and their errors; None when nothing was left to choose.
    shape_
        Lengths of the modes.
    n_iter_
        Iterations of the solver.
    n_features_in_, feature_names_in_
        Number of modes, and their names when ``X`` had any.

    Examples
    --------
    >>> import intensor
    >>> from intensor._estimator import TensorCompleter
    >>> data = intensor.planted((6, 6, 6), 150)
    >>> completer = TensorCompleter(radius=1.0).fit(data.coords, data.values)
    >>> completer.status_.name, completer.shape_
    ('OPTIMAL', (6, 6, 6))
    >>> completer.predict([[0, 1, 2], [5, 5, 5]]).shape
    (2,)
    >>> completer.score(data.coords, data.values) > 0.99
    True
    """

    def __init__(
        self,
        *,
        radius: float | str = "auto",
        transform: str | tuple[Callable[..., Any], Callable[..., Any]] = "none",
        baseline: str = "none",
        remainder: str = "none",
        n_solutions: int = 1,
        validation: float | str = 0.1,
        scoring: str = "rmse",
        n_radii: int = 20,
        unseen: str = "warn",
        shape: Iterable[int] | None = None,
        version: int | str = "fast",
        tol: float = 0.0,
        rtol: float | str = "auto",
        max_iterations: int | None = None,
        time_limit: float | None = None,
        random_state: Any = 0,
        threads: int | None = None,
        exact: str = "auto",
        device: str = "cpu",
        client: Any = None,
        callback: Watch | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: float = EVERY,
        resume: bool = False,
    ) -> None:
        self.radius = radius
        self.transform = transform
        self.baseline = baseline
        self.remainder = remainder
        self.n_solutions = n_solutions
        self.validation = validation
        self.scoring = scoring
        self.n_radii = n_radii
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
        self.client = client
        self.callback = callback
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.resume = resume

    @property
    def transform(self) -> Any:
        """Not there to be read: scikit-learn takes what has a ``transform`` for a transformer.

        The setting of that name is ``get_params()["transform"]``.
        """
        raise AttributeError(
            "TensorCompleter is no transformer; the setting is get_params()['transform']"
        )

    @transform.setter
    def transform(self, option: Any) -> None:
        self.__dict__["transform"] = option

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name."""
        return {name: self.__dict__[name] for name in self._get_param_names()}

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803
        """Fit the tensor to observations.

        Parameters
        ----------
        X
            (n, p) whole numbers counted from 0, a row per observation: an array, or a table whose
            columns scikit-learn then expects in ``predict``, too, by name and order.
        y
            (n,) values >= 0.
        sample_weight
            (n,) how much each observation counts; by default all the same.
        """
        self._check_unseen()
        words = self.get_params()
        for word in ("unseen", "shape", "client", "callback"):
            del words[word]
        options = fit_options(words)
        checked, values = validate_data(self, X, y, y_numeric=True)
        if values.dtype.kind in "if" and values.min() < 0.0:
            row = int(np.argmin(values))
            raise NegativeValueError(
                f"y[{row}] is {values[row]}; expected values >= 0, since the tensor is nonnegative "
                "(clip or shift them)"
            )
        weights = None if sample_weight is None else np.asarray(sample_weight)
        if weights is not None and not weights.any():
            raise EmptyDataError("every sample weight is zero: there is no observation to fit")
        cells = _whole(checked)
        self.fit_ = fit(
            cells,
            values,
            options,
            shape=self.shape,
            sample_weight=weights,
            labels=self._labels(cells, y),
            watch=self.callback,
            client=self.client,
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
        """Return a prediction for each of (n, p) cells, in the units of ``y``, never below 0.

        Parameters
        ----------
        X
            (n, p) whole numbers counted from 0.
        """
        check_is_fitted(self)
        self._check_unseen()
        checked = validate_data(self, X, reset=False)
        return self.fit_.predict(_whole(checked), unseen=self.unseen)

    def _labels(self, cells: IndexArray, y: Any) -> Labels | None:
        """Return the names of the columns, if ``X`` had any; indices are called by their numbers.

        So ``fit_`` reads tables with these columns, like any fit that has labels.
        """
        if not hasattr(self, "feature_names_in_"):
            return None
        _, shape = check_coords(cells, self.shape)
        modes = tuple(map(str, self.feature_names_in_))
        name = getattr(y, "name", None)
        value = name if isinstance(name, str) and name not in modes else "value"
        return replace(number_labels(shape, value=value), modes=modes)

    def _check_unseen(self) -> None:
        as_unseen(self.unseen)

    def __sklearn_clone__(self) -> Self:
        """Return one with the same settings, and the same client: there is no copy of it."""
        words = self.get_params()
        client = words.pop("client")
        return type(self)(
            **{name: clone(value, safe=False) for name, value in words.items()}, client=client
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.target_tags.positive_only = True
        tags.non_deterministic = self.random_state is None
        return tags


def _whole(array: AnyArray) -> IndexArray:
    """Return coordinates as integers if that changes none of them, or say which it would."""
    if array.dtype.kind != "b" and array.min() < 0:
        row, mode = (int(place) for place in np.argwhere(array < 0)[0])
        raise CoordinateError(
            f"Negative values in data passed as X: X[{row}, {mode}] is {array[row, mode]}; "
            "expected indices counted from 0"
        )
    if array.dtype.kind in "bi":
        return array.astype(np.int64, copy=False)
    whole = (array == np.rint(array)) & (np.abs(array) <= LARGEST_INDEX)
    if not whole.all():
        row, mode = (int(place) for place in np.argwhere(~whole)[0])
        raise CoordinateError(
            f"X[{row}, {mode}] is {array[row, mode]}; expected whole numbers from 0 to 2^53, one "
            "per mode (turn labels into numbers first, e.g. with OrdinalEncoder in a pipeline)"
        )
    return array.astype(np.int64)
