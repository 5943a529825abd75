"""Checksums: MD5 of bytes as published, or of an HDF5 file's content."""

from __future__ import annotations

import hashlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from bioeval_tui.base.errors import InputError
from bioeval_tui.grade.tasks.prepare import (
    CONTENT,
    file_checksum,
    folder_checksums,
    mismatches,
    read_checksums,
)


def write_h5(
    path: Path, value: float = 1.0, compression: str | None = None, name: str = "gene"
) -> Path:
    with h5py.File(path, "w") as file:
        file.create_dataset("X/data", data=np.array([value, 2.0]), compression=compression)
        file.create_dataset("names", data=np.array([name, "b"], dtype=h5py.string_dtype()))
        file.attrs["written-by"] = str(compression)
    return path


def test_bytes_are_checked_by_md5_as_published(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,y\n1,2\n")
    assert file_checksum(path) == hashlib.md5(b"id,y\n1,2\n").hexdigest()


def test_hdf5_files_are_compared_by_content(tmp_path: Path) -> None:
    plain, packed = write_h5(tmp_path / "a.h5ad"), write_h5(tmp_path / "b.h5ad", compression="gzip")
    assert plain.read_bytes() != packed.read_bytes()
    assert file_checksum(plain, CONTENT) == file_checksum(packed, CONTENT)


@pytest.mark.parametrize("change", [{"value": 1.0000001}, {"name": "gen"}])
def test_another_value_or_name_changes_the_checksum(
    tmp_path: Path, change: dict[str, object]
) -> None:
    before = file_checksum(write_h5(tmp_path / "a.h5ad"), CONTENT)
    changed = write_h5(tmp_path / "b.h5ad", **change)  # type: ignore[arg-type]
    assert file_checksum(changed, CONTENT) != before


def test_recorded_checksums_pass_their_own_check(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n")
    write_h5(tmp_path / "b.h5ad")
    recorded = {"public": folder_checksums(tmp_path)}
    assert set(recorded["public"]) == {"a.csv", "b.h5ad"}
    assert mismatches(recorded, {"public": tmp_path}) == []
    (tmp_path / "a.csv").write_text("y\n")
    (tmp_path / "b.h5ad").unlink()
    assert mismatches(recorded, {"public": tmp_path}) == [
        "public/a.csv differs from its checksum",
        "public/b.h5ad is missing",
    ]


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", "just a word"])
def test_an_invalid_checksums_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "checksums.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"checksums\.yaml"):
        read_checksums(path)


def test_without_a_checksums_file_nothing_is_checked(tmp_path: Path) -> None:
    assert read_checksums(tmp_path / "checksums.yaml") == {}
