"""Output files are refused before any work is done."""

from pathlib import Path

import pytest

from intensor.cli.io import (
    PAGE_SUFFIXES,
    STDOUT,
    check_checkpoint,
    check_output,
    table_kind,
    write_page,
)
from intensor.errors import FileFormatError
from intensor.solver.checkpoint import CheckpointTarget


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


@pytest.mark.parametrize(
    ("name", "kind"), [("a.csv", "csv"), ("a.TSV.gz", "tsv"), ("a.b.parquet", "parquet")]
)
def test_the_suffix_is_the_format(name, kind):
    assert table_kind(Path(name)) == kind


def test_pages_are_written_in_utf_8(tmp_path):
    write_page(tmp_path / "page.html", "żółw")
    assert (tmp_path / "page.html").read_bytes() == "żółw".encode()
