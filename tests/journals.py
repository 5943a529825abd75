"""Journals as SQLite leaves them after a crash, made by hand."""

from __future__ import annotations

import struct
from pathlib import Path

_MAGIC = bytes.fromhex("d9d505f920a163d7")
_SECTOR = 512


def write_hostile_journal(database: Path, named: Path) -> None:
    """Write the journal of a transaction over several databases, which names the file that SQLite
    is to delete afterwards.

    The format: https://www.sqlite.org/fileformat2.html#the_rollback_journal
    """
    whole = database.read_bytes()
    page_size = int.from_bytes(whole[16:18], "big")
    first, nonce = whole[:page_size], 12_345
    checksum = (nonce + sum(first[at] for at in range(page_size - 200, 0, -200))) & 0xFFFFFFFF
    header = _MAGIC + struct.pack(">IIIII", 1, nonce, len(whole) // page_size, _SECTOR, page_size)
    record = struct.pack(">I", 1) + first + struct.pack(">I", checksum)
    begin = header.ljust(_SECTOR, b"\0") + record
    name = str(named).encode()
    end = (
        struct.pack(">I", 0x40000000 // page_size + 1)
        + name
        + struct.pack(">II", len(name), sum(name))
        + _MAGIC
    )
    padded = begin.ljust(-(-len(begin) // _SECTOR) * _SECTOR, b"\0")
    database.with_name(f"{database.name}-journal").write_bytes(padded + end)
