"""Zip files, including members compressed with Zstandard, as in newer Inspect logs."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from zipfile import BadZipFile, ZipFile, is_zipfile
else:
    from backports.zstd.zipfile import BadZipFile, ZipFile, is_zipfile

__all__ = ["BadZipFile", "ZipFile", "is_zipfile"]
