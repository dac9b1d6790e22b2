"""Output files are refused before any work is done; labels are never lost."""

from pathlib import Path

import numpy as np
import pytest

from intensor.cli.io import (
    PAGE_SUFFIXES,
    STDOUT,
    check_can_hold,
    check_checkpoint,
    check_output,
    check_table_output,
    is_tensor,
    read_model_cells,
    write_cells,
    write_page,
)
from intensor.data.labels import Labels, number_labels
from intensor.errors import FileFormatError, LabelError, SettingError
from intensor.fitting.model_file import load
from intensor.solver.checkpoint import CheckpointTarget

NAMED = Labels(modes=("a",), indices=(np.array(["x"], dtype=object),))


def test_names_that_cannot_be_written_are_refused(tmp_path):
    check_output(tmp_path / "page.HTML", suffixes=PAGE_SUFFIXES, inputs=[])
    with pytest.raises(FileFormatError, match=r"use \.html or \.htm$"):
        check_output(tmp_path / "page.pdf", suffixes=PAGE_SUFFIXES, inputs=[])
    with pytest.raises(FileFormatError, match=r"use \.npz$"):
        check_output(tmp_path / "model", suffixes=[".npz"], inputs=[])


def test_inputs_are_not_overwritten(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("a\n")
    link = tmp_path / "link.csv"
    link.symlink_to(data)
    check_output(tmp_path / "new.csv", suffixes=[".csv"], inputs=[data])
    for path in (data, link):
        with pytest.raises(FileFormatError, match="is an input of this command too"):
            check_output(path, suffixes=[".csv"], inputs=[data, tmp_path / "missing.csv"])


def test_a_checkpoint_is_a_file_of_its_own(tmp_path):
    path = tmp_path / "checkpoint.npz"
    checkpoint = CheckpointTarget(path=path, every=60.0, resume=False)
    check_checkpoint(None, others=[path])
    check_checkpoint(checkpoint, others=[STDOUT, tmp_path / "model.npz"])
    with pytest.raises(FileFormatError, match="choose another name for the checkpoint"):
        check_checkpoint(checkpoint, others=[tmp_path / "x" / ".." / "checkpoint.npz"])


def test_json_and_a_table_do_not_share_stdout(tmp_path):
    check_table_output(STDOUT, inputs=[], json=False)
    check_table_output(tmp_path / "out.csv.gz", inputs=[], json=True)
    with pytest.raises(SettingError, match="--json needs a file for the table"):
        check_table_output(STDOUT, inputs=[], json=True)


@pytest.mark.parametrize("suffix", ["tns", "npz", "MAT"])
def test_labels_are_not_written_to_files_of_indices(suffix):
    check_can_hold(Path(f"out.{suffix}"), number_labels((3,)))
    for name in ("out.csv", "a.TSV.gz", "a.tns.parquet", "-"):
        assert not is_tensor(Path(name))
        check_can_hold(Path(name), NAMED)
    with pytest.raises(FileFormatError, match=rf"a \.{suffix.lower()} file has indices only"):
        check_can_hold(Path(f"out.{suffix}"), NAMED)


def test_files_of_indices_do_not_go_with_labels(model, tmp_path):
    path = tmp_path / "cells.tns"
    path.write_text("1 1 1\n")
    with pytest.raises(LabelError, match=r"cells\.tns: a \.tns file has indices only"):
        read_model_cells(load(model), path, {"kind": None, "one_based": None})


def test_tensors_grow_with_their_cells(tmp_path):
    path = tmp_path / "out.npz"
    coords = np.array([[0, 1], [4, 0]])
    write_cells(path, {}, coords=coords, values=np.ones(2), shape=(2, 3))
    with np.load(path) as written:
        assert written["shape"].tolist() == [5, 3]


def test_pages_are_written_in_utf_8(tmp_path):
    write_page(tmp_path / "page.html", "żółw")
    assert (tmp_path / "page.html").read_bytes() == "żółw".encode()
