"""Damaged h5ad files, each wrong in one way."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata
import h5py
import numpy as np
import pandas as pd
from scipy import sparse as sp

CELLS = [f"cell{n}" for n in range(12)]
GENES = [f"gene{n}" for n in range(5)]
TRUTH = np.random.default_rng(7).random((12, 5)).astype(np.float32)
HUGE = 10**6
"""A matrix of this many rows and 10,000 columns of 8 bytes would take 80 GB; packed it takes a few
kB.
"""


def plain(path: Path, values: Any, *, sparse: bool = False, packed: bool = False) -> None:
    """Write a right file with values in every place that a task may look at."""
    table = anndata.AnnData(
        X=sp.csr_matrix(values) if sparse else values,
        obs=pd.DataFrame(index=CELLS),
        var=pd.DataFrame(index=GENES),
    )
    table.layers["prediction"] = sp.csr_matrix(values) if sparse else values
    table.obsm["embedding"] = values[:, :3]
    table.obs["kind"] = pd.Categorical(["T", "B", "NK"] * 4)
    path.unlink(missing_ok=True)
    table.write_h5ad(path, compression="gzip" if packed else None)


def _replace(file: h5py.File, name: str, **options: Any) -> Any:
    attributes = dict(file[name].attrs)
    del file[name]
    made_again = file.create_dataset(name, **options)
    made_again.attrs.update(attributes)
    return made_again


def _everywhere(file: h5py.File, make: Callable[[str], None]) -> None:
    for name in ("X", "layers/prediction", "obsm/embedding"):
        make(name)


def _link_all(file: h5py.File, link: Callable[[str], Any]) -> None:
    for name in ("X", "layers/prediction", "obsm/embedding", "obs/kind"):
        del file[name]
        file[name] = link(name)


def _bomb(file: h5py.File, canary: Path) -> None:
    shape = (HUGE, 10_000)
    _everywhere(
        file,
        lambda name: _replace(
            file, name, shape=shape, dtype="f8", chunks=(1000, 1000), compression="gzip"
        ),
    )


def _filled_bomb(file: h5py.File, canary: Path) -> None:
    shape, chunk = (20_000, 5_000), (1_000, 5_000)
    # Packed once, as each chunk has the same zeros: HDF5 would pack 2.4 GB, for ten seconds.
    packed = zlib.compress(bytes(8 * chunk[0] * chunk[1]))

    def fill(name: str) -> None:
        made_again = _replace(file, name, shape=shape, dtype="f8", chunks=chunk, compression="gzip")
        for row in range(0, shape[0], chunk[0]):
            made_again.id.write_direct_chunk((row, 0), packed)

    _everywhere(file, fill)


def _contiguous_bomb(file: h5py.File, canary: Path) -> None:
    _everywhere(file, lambda name: _replace(file, name, shape=(HUGE, 10_000), dtype="f8"))


def _names_bomb(file: h5py.File, canary: Path) -> None:
    for axis in ("obs", "var"):
        _replace(
            file,
            f"{axis}/_index",
            shape=(2 * 10**8,),
            dtype="S40",
            chunks=(10**6,),
            compression="gzip",
        )


def _lengths_bomb(file: h5py.File, canary: Path) -> None:
    """A text's place in the file says how long it is: here 1.5 GB, which HDF5 would reserve and
    fill.
    """
    places = ("obs/_index", "var/_index", "obs/kind/categories")
    offsets = [file[place].id.get_offset() for place in places]
    file.flush()
    with Path(file.filename).open("r+b") as raw:
        for offset in offsets:
            raw.seek(offset)
            raw.write((1_500_000_000).to_bytes(4, "little"))


def _codes_bomb(file: h5py.File, canary: Path) -> None:
    _replace(
        file, "obs/kind/codes", shape=(10**9,), dtype="i1", chunks=(10**6,), compression="gzip"
    )


def _sparse_bomb(file: h5py.File, canary: Path) -> None:
    for name in ("X", "layers/prediction"):
        for part, kind in (("data", "f8"), ("indices", "i8")):
            _replace(
                file,
                f"{name}/{part}",
                shape=(3 * 10**8,),
                dtype=kind,
                chunks=(10**6,),
                compression="gzip",
            )


def _sparse_shape(file: h5py.File, canary: Path) -> None:
    for name in ("X", "layers/prediction"):
        file[name].attrs["shape"] = np.array([2**40, 2**40])


def _sparse_out_of_bounds(file: h5py.File, canary: Path) -> None:
    for name in ("X", "layers/prediction"):
        file[f"{name}/indices"][...] = 10**8


def _sparse_negative(file: h5py.File, canary: Path) -> None:
    for name in ("X", "layers/prediction"):
        file[f"{name}/indices"][...] = -(10**8)


def _sparse_pointers(file: h5py.File, canary: Path) -> None:
    for name in ("X", "layers/prediction"):
        pointers = file[f"{name}/indptr"][...]
        file[f"{name}/indptr"][...] = pointers[::-1]


def _sparse_far_pointers(file: h5py.File, canary: Path) -> None:
    for name in ("X", "layers/prediction"):
        pointers = file[f"{name}/indptr"][...]
        pointers[1:] = 10**8
        file[f"{name}/indptr"][...] = pointers


def _codes_out_of_bounds(file: h5py.File, canary: Path) -> None:
    file["obs/kind/codes"][...] = 100


def _categories_of_many(file: h5py.File, canary: Path) -> None:
    _replace(file, "obs/kind/categories", data=np.array([b"a"] * 1000))


def _categories_missing(file: h5py.File, canary: Path) -> None:
    del file["obs/kind/categories"]


def _external(file: h5py.File, canary: Path) -> None:
    _link_all(file, lambda name: h5py.ExternalLink(str(canary), f"/{name}"))


def _external_axis(file: h5py.File, canary: Path) -> None:
    for axis in ("obs", "var"):
        del file[axis]
        file[axis] = h5py.ExternalLink(str(canary), f"/{axis}")


def _external_holders(file: h5py.File, canary: Path) -> None:
    for holder in ("layers", "obsm"):
        del file[holder]
        file[holder] = h5py.ExternalLink(str(canary), f"/{holder}")


def _external_elsewhere(file: h5py.File, canary: Path) -> None:
    file["uns/x"] = h5py.ExternalLink(str(canary), "/X")


def _soft_to_external(file: h5py.File, canary: Path) -> None:
    file["away"] = h5py.ExternalLink(str(canary), "/")
    _link_all(file, lambda name: h5py.SoftLink(f"/away/{name}"))


def _soft_axis(file: h5py.File, canary: Path) -> None:
    file["away"] = h5py.ExternalLink(str(canary), "/")
    for axis in ("obs", "var"):
        del file[axis]
        file[axis] = h5py.SoftLink(f"/away/{axis}")


def _index_through_external(file: h5py.File, canary: Path) -> None:
    file["away"] = h5py.ExternalLink(str(canary), "/")
    for axis in ("obs", "var"):
        file[axis].attrs["_index"] = f"/away/{axis}/_index"


def _index_elsewhere(file: h5py.File, canary: Path) -> None:
    file["obs"].attrs["_index"] = "../layers"


def _index_number(file: h5py.File, canary: Path) -> None:
    file["obs"].attrs["_index"] = np.array([1, 2, 3])


def _soft_loop(file: h5py.File, canary: Path) -> None:
    _link_all(file, lambda name: h5py.SoftLink(f"/{name}"))


def _hard_loop(file: h5py.File, canary: Path) -> None:
    file["obs/obs"] = file["obs"]
    file["layers/again"] = file["/"]
    file["obs/kind/again"] = file["obs/kind"]


def _virtual(file: h5py.File, canary: Path) -> None:
    for name, shape in (
        ("X", (12, 5)),
        ("layers/prediction", (12, 5)),
        ("obsm/embedding", (12, 3)),
    ):
        attributes = dict(file[name].attrs)
        del file[name]
        layout = h5py.VirtualLayout(shape=shape, dtype="f4")
        layout[...] = h5py.VirtualSource(str(canary), f"/{name}", shape=shape)
        file.create_virtual_dataset(name, layout).attrs.update(attributes)


def _outside_storage(file: h5py.File, canary: Path) -> None:
    for name, shape in (
        ("X", (12, 5)),
        ("layers/prediction", (12, 5)),
        ("obsm/embedding", (12, 3)),
    ):
        _replace(
            file, name, shape=shape, dtype="f4", external=[(str(canary), 0, h5py.h5f.UNLIMITED)]
        )


def _codes_outside(file: h5py.File, canary: Path) -> None:
    _replace(
        file,
        "obs/kind/codes",
        shape=(12,),
        dtype="i1",
        external=[(str(canary), 0, h5py.h5f.UNLIMITED)],
    )
    _replace(
        file, "obs/_index", shape=(12,), dtype="S5", external=[(str(canary), 0, h5py.h5f.UNLIMITED)]
    )


def _pipe(file: h5py.File, canary: Path) -> None:
    _link_all(file, lambda name: h5py.ExternalLink("/dev/stdin", f"/{name}"))


def _values(data: Any) -> Callable[[h5py.File, Path], None]:
    def change(file: h5py.File, canary: Path) -> None:
        _everywhere(file, lambda name: _replace(file, name, data=data))

    return change


def _encoding(name: str) -> Callable[[h5py.File, Path], None]:
    def change(file: h5py.File, canary: Path) -> None:
        for place in ("X", "obs", "obs/kind", "layers/prediction"):
            file[place].attrs["encoding-type"] = name

    return change


def _many_links(file: h5py.File, canary: Path) -> None:
    group = file.create_group("obs/many")
    for number in range(3_000):
        group[f"x{number}"] = file["X"]


def _nothing(file: h5py.File, canary: Path) -> None:
    return


def _empty(file: h5py.File, canary: Path) -> None:
    for name in list(file):
        del file[name]


def _strange_names(file: h5py.File, canary: Path) -> None:
    _replace(
        file,
        "obs/_index",
        data=np.array(["\x1b]52;c;aGk=", "\u202e", *CELLS[2:]], dtype=h5py.string_dtype()),
    )


def _not_text(file: h5py.File, canary: Path) -> None:
    _replace(
        file,
        "obs/_index",
        data=np.array(
            [b"\xff\xfe", *(name.encode() for name in CELLS[1:])], dtype=h5py.string_dtype()
        ),
    )


_MATRIX = (
    ("text", np.array([[b"a"] * 5] * 12)),
    ("complex", TRUTH * 1j),
    ("one row", TRUTH[0]),
    ("cube", TRUTH[None]),
    ("scalar", 1.0),
)
_MATRIX += (
    ("none", np.zeros((0, 5))),
    ("wide", np.zeros((12, 500))),
    ("nan", TRUTH * np.nan),
    ("infinite", TRUTH + np.inf),
)
_MATRIX += (
    ("whole", np.full((12, 5), 2**62)),
    ("flags", TRUTH > 0.5),
    ("half", TRUTH.astype("f2")),
    ("largest", np.full((12, 5), 1e308)),
)
_MATRIX += (
    ("records", np.zeros((12, 5), [("a", "f4"), ("b", "S3")])),
    ("opaque", np.zeros((12, 5), "V8")),
    ("empty", h5py.Empty("f4")),
)

MADE: dict[str, Callable[[h5py.File, Path], None]] = {
    "plain": _nothing, "sparse": _nothing, "chunked": _nothing, "categories": _nothing,
    "bomb": _bomb, "filled bomb": _filled_bomb,
    "contiguous bomb": _contiguous_bomb, "names bomb": _names_bomb, "lengths bomb": _lengths_bomb,
    "codes bomb": _codes_bomb, "sparse bomb": _sparse_bomb,
    "sparse shape": _sparse_shape, "sparse out of bounds": _sparse_out_of_bounds,
    "sparse negative": _sparse_negative,
    "sparse pointers": _sparse_pointers, "sparse far pointers": _sparse_far_pointers,
    "codes out of bounds": _codes_out_of_bounds,
    "categories of many": _categories_of_many, "categories missing": _categories_missing,
    "external": _external,
    "external axis": _external_axis, "external holders": _external_holders,
    "external elsewhere": _external_elsewhere,
    "soft to external": _soft_to_external, "soft axis": _soft_axis,
    "index through external": _index_through_external,
    "index elsewhere": _index_elsewhere, "index number": _index_number, "soft loop": _soft_loop,
    "hard loop": _hard_loop,
    "virtual": _virtual, "outside storage": _outside_storage, "codes outside": _codes_outside,
    "pipe": _pipe,
    "many links": _many_links, "nothing": _empty, "strange names": _strange_names,
    "not text": _not_text,
    **{f"values: {name}": _values(data) for name, data in _MATRIX},
    **{f"encoding {name}": _encoding(name) for name in ("awkward-array", "dict", "rec-array",
            "nullable-integer", "csr_matrix", "string", "x", "")},
}  # fmt: skip


def made(name: str, path: Path, canary: Path) -> bytes:
    """Return the bytes of the file that is wrong in the way that `name` says; `canary` is the other
    file it points at.
    """
    plain(path, TRUTH, sparse=name.startswith("sparse"), packed=name == "chunked")
    with h5py.File(path, "r+") as file:
        MADE[name](file, canary)
    return path.read_bytes()
