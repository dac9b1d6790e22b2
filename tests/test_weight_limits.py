"""Weights that are too uneven are refused wherever they enter, by the same check."""

import numpy as np
import pytest

import intensor
from intensor import errors
from intensor.cli import main
from intensor.report import render

COORDS = np.array([[0, 0], [0, 1], [1, 1]])
VALUES = np.array([1.0, 2.0, 3.0])
UNEVEN = [1e-302, 1e49, 1e-151]
MESSAGE = r"sample_weight\[0\] is 1e-302 and the largest is 1e\+49; expected .*set the smaller ones"


def frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"a": COORDS[:, 0], "b": COORDS[:, 1], "value": VALUES, "w": UNEVEN})


def fitted():
    return intensor.TensorCompleter(radius=3.0).fit(COORDS, VALUES).fit_


WAYS = {
    "solve": lambda: intensor.solve(COORDS, VALUES, radius=1.0, sample_weight=UNEVEN),
    "solve, version 8": lambda: intensor.solve(
        COORDS, VALUES, radius=1.0, version=8, sample_weight=UNEVEN
    ),
    "estimator": lambda: intensor.TensorCompleter().fit(COORDS, VALUES, sample_weight=UNEVEN),
    "table": lambda: intensor.complete(frame(), value="value", weight="w", cells="all"),
    "verify": lambda: intensor.verify(fitted().result, COORDS, VALUES, sample_weight=UNEVEN),
    "verify of a fit": lambda: fitted().verify(COORDS, VALUES, sample_weight=UNEVEN),
    "report": lambda: render(fitted(), COORDS, VALUES, sample_weight=UNEVEN),
}


@pytest.mark.parametrize("way", WAYS)
def test_too_uneven_weights_are_refused(way):
    with pytest.raises(errors.ValuesError, match=MESSAGE):
        WAYS[way]()


@pytest.mark.parametrize("command", ["fit", "complete", "verify", "report"])
def test_too_uneven_weights_of_files_are_refused(tmp_path, capsys, command):
    table, model = tmp_path / "table.csv", tmp_path / "model.npz"
    rows = zip(COORDS.tolist(), VALUES.tolist(), UNEVEN, strict=True)
    lines = [f"{a},{b},{value},{weight}" for (a, b), value, weight in rows]
    table.write_text("\n".join(["a,b,value,w", *lines]) + "\n")
    even = tmp_path / "even.csv"
    even.write_text("\n".join(["a,b,value,w", *(f"{line[:7]},1" for line in lines)]) + "\n")
    assert main(["fit", str(even), "--weight", "w", "--radius", "3", "-q", "-o", str(model)]) == 0
    files = [str(model), str(table)] if command in ("verify", "report") else [str(table)]
    out = [] if command == "verify" else ["-o", str(tmp_path / "out.npz")]
    if command in ("complete", "report"):
        out = ["-o", str(tmp_path / f"out.{'csv' if command == 'complete' else 'html'}")]
    capsys.readouterr()
    assert main([command, *files, "--weight", "w", *out]) == 2
    shown = capsys.readouterr().err
    assert "1e-302" in shown
    assert "1e-100" in shown
