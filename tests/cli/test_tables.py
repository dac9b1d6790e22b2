from pathlib import Path

import numpy as np
import pytest

from intensor.cli.tables import check_writable, read_model_cells, write_cells
from intensor.data.labels import Labels, number_labels
from intensor.errors import FileFormatError, LabelError
from intensor.fitting.model_file import load

NAMED = Labels(modes=("a",), indices=(np.array(["x"], dtype=object),))


@pytest.mark.parametrize("suffix", ["tns", "npz", "mat"])
def test_labels_are_not_written_to_files_of_indices(suffix):
    check_writable(Path(f"out.{suffix}"), number_labels((3,)))
    check_writable(Path("out.csv"), NAMED)
    check_writable(Path("-"), NAMED)
    with pytest.raises(FileFormatError, match=rf"a \.{suffix} file has indices only"):
        check_writable(Path(f"out.{suffix}"), NAMED)


def test_files_of_indices_do_not_go_with_labels(model, tmp_path):
    path = tmp_path / "cells.tns"
    path.write_text("1 1 1\n")
    with pytest.raises(LabelError, match=r"cells\.tns: a \.tns file has indices only"):
        read_model_cells(load(model), path, kind=None, one_based=None)


def test_tensors_grow_with_their_cells(tmp_path):
    path = tmp_path / "out.npz"
    coords = np.array([[0, 1], [4, 0]])
    write_cells(path, {}, coords=coords, values=np.ones(2), shape=(2, 3))
    with np.load(path) as written:
        assert written["shape"].tolist() == [5, 3]
