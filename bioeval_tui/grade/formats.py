"""What a file is that is called .csv or .h5ad and is not: packed, a workbook, a pointer, a web
page.
"""

from __future__ import annotations

_PICKLE = "a Python pickle; write it with `to_csv(path, index=False)`"
_BEGINNINGS = (
    (b"\x1f\x8b", "packed with gzip; unpack it first (gunzip)"),
    (b"BZh91AY&SY", "packed with bzip2; unpack it first (bunzip2)"),
    (b"\xfd7zXZ\x00", "packed with xz; unpack it first (unxz)"),
    (b"\x28\xb5\x2f\xfd", "packed with Zstandard; unpack it first (unzstd)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it first"),
    (b"Rar!\x1a\x07", "a RAR archive; unpack it first"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook; save the sheet as CSV"),
    (b"ARROW1\x00\x00", "an Arrow (Feather) file; write it with `to_csv(path, index=False)`"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file; name it .h5ad if it is one"),
    (b"\x80\x04\x95", _PICKLE),
    (b"\x80\x05\x95", _PICKLE),
    (b"\xff\xfe\x00\x00", "text in UTF-32; save it as UTF-8"),
    (b"\x93NUMPY", "a NumPy array; write it with `to_csv(path, index=False)`"),
    (b"%PDF-", "a PDF document"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
LFS = "version https://git-lfs.github.com/spec/"
"""How a Git LFS pointer begins."""
_UTF_16 = "text in UTF-16, as Excel's “Unicode text”; save it as UTF-8"
_ENOUGH = 1024


def other_format(data: bytes) -> str | None:
    """Return what the content of a file is instead of CSV or h5ad, with the way out; None if it may
    be either.

    `data` is the whole file: the list in a ZIP archive, and the mark of Parquet, are at its end.
    """
    start = data[:_ENOUGH]
    for beginning, what in _BEGINNINGS:
        if start.startswith(beginning):
            return what
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_format(data)
    if start.startswith(b"PAR1") and data.endswith(b"PAR1"):
        return "a Parquet file; write it with `to_csv(path, index=False)`"
    if start.startswith(LFS.encode()):
        return "a Git LFS pointer, not the file itself; get that with `git lfs pull`"
    if _is_page(start):
        return "a web page (HTML), perhaps of a download that needs a login"
    if _is_utf_16(start):
        return _UTF_16
    return None


def _zip_format(data: bytes) -> str:
    if b"xl/workbook" in data:
        return "an Excel workbook; save the sheet as CSV"
    if b"opendocument.spreadsheet" in data[:_ENOUGH]:
        return "an OpenDocument workbook; save the sheet as CSV"
    if b".zarray" in data or b".zgroup" in data or b"zarr.json" in data:
        return "a packed Zarr store; write it with `write_h5ad`"
    return "a ZIP archive; unpack it first (unzip)"


def _is_page(start: bytes) -> bool:
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return text.startswith((b"<!doctype html", b"<html", b"<head", b"<table", b"<?xml"))


def _is_utf_16(start: bytes) -> bool:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    # Without a mark: every other byte of Western text is zero.
    sides = start[::2], start[1::2]
    return len(start) >= 8 and any(not any(side) for side in sides) and any(start)
