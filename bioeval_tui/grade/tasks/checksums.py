"""Checksums of a task's data: MD5 of files as published, SHA-256 of the content of HDF5 files that we write.

`checksums.yaml` has `zip: <md5>` of a downloaded archive, and `public` and `private` with one entry a file.
An entry is the MD5 of the file's bytes, or `content-sha256:<hex>`: the bytes of an HDF5 file differ
between library versions that store the same arrays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bioeval_tui.errors import InputError

CONTENT = "content-sha256:"


def read_checksums(path: Path) -> dict[str, Any]:
    """Return the checksums of a task; empty if it has none.

    Raises:
        InputError: the file is not a YAML mapping.
    """
    if not path.is_file():
        return {}
    try:
        # All scalars stay text, because a checksum may consist of digits only.
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 (builds no objects)  # nosec B506
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid YAML: {error}") from None
    if data in (None, ""):
        return {}
    if not isinstance(data, dict):
        raise InputError(f"{path}: checksums must be a mapping of file names to checksums")
    return data


def file_checksum(path: Path, like: str = "") -> str:
    """Return the checksum of a file, of the same kind as `like` (MD5 of the bytes by default)."""
    if like.startswith(CONTENT):
        return CONTENT + _hdf5_digest(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def folder_checksums(folder: Path) -> dict[str, str]:
    """Return the checksums to record for the data files of a folder, by name."""
    names = sorted(path.name for path in folder.iterdir() if path.suffix not in (".md", ""))
    return {name: file_checksum(folder / name, CONTENT if name.endswith(".h5ad") else "") for name in names}


def mismatches(expected: Mapping[str, Any], folders: Mapping[str, Path]) -> list[str]:
    """Return a sentence for each file that is missing or differs. `folders` maps `public` and `private`."""
    differences = []
    for part, folder in folders.items():
        listed = expected.get(part)
        for name, checksum in listed.items() if isinstance(listed, Mapping) else ():
            path = folder / str(name)
            if not path.is_file():
                differences.append(f"{part}/{name} is missing")
            elif file_checksum(path, str(checksum)) != str(checksum):
                differences.append(f"{part}/{name} differs from its checksum")
    return differences


def _hdf5_digest(path: Path) -> str:
    import h5py  # for HDF5 files alone
    import numpy as np

    digest = hashlib.sha256()

    def add(name: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset):
            return
        if h5py.check_string_dtype(item.dtype) is not None:
            texts = item.asstr()[()]
            payload = "\0".join(np.atleast_1d(texts).ravel().tolist()).encode()
        else:
            values = np.ascontiguousarray(item[()])
            payload = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        digest.update(f"{name}|{item.shape}|{len(payload)}|".encode() + payload)

    with h5py.File(path, "r") as file:
        names: list[str] = []
        file.visit(names.append)
        for name in sorted(names):
            add(name, file[name])
    return digest.hexdigest()
