"""Which graph it is, and whether it changed: a random id beside its file, and a digest of its content that
does not depend on ids or order."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bioeval_tui.files import write_new


def graph_id(path: Path) -> str:
    """Return the id of the graph at `path`; create it if it does not exist.

    Raises:
        StorageError: it cannot be written.
    """
    file = path.with_suffix(".id")
    if not file.exists():
        write_new(file, secrets.token_hex(16))
    return file.read_text("ascii").strip()


MAX_DIGESTED = 50_000
"""Maximum number of nodes, and of relationships, whose content is digested. For larger graphs, only the counts are."""

_BYTES = 16


class ContentDigest:
    """Computes a digest of nodes and relationships as they are read.

    Two graphs with the same labels, properties and connections have the same digest, whatever ids the
    database gave them and in whatever order they are read: a graph that a setup cleared and wrote again
    counts as unchanged. Each element is hashed, a relationship together with the hashes of its two ends,
    and the hashes are added.
    """

    def __init__(self) -> None:
        self._nodes: dict[Any, bytes] = {}
        self._sum = 0

    def add_node(self, node: Any, labels: Sequence[str], properties: Mapping[str, Any]) -> None:
        """Add one node; `node` is its id in the database, used only to find a relationship's ends."""
        content = _hash("node", sorted(labels), properties)
        self._nodes[node] = content
        self._sum += int.from_bytes(content)

    def add_relationship(self, kind: str, start: Any, end: Any, properties: Mapping[str, Any]) -> None:
        """Add one relationship; an end that was not read counts as unknown."""
        ends = [self._nodes.get(start, b"").hex(), self._nodes.get(end, b"").hex()]
        self._sum += int.from_bytes(_hash(kind, ends, properties))

    def hexdigest(self, counts: Iterable[Mapping[str, int]]) -> str:
        """Return the digest; `counts` (labels, relationship types) distinguish graphs that are too large to read."""
        total = self._sum % (1 << (8 * _BYTES))
        return _hash("graph", [format(total, "x")], {str(n): dict(c) for n, c in enumerate(counts)}).hex()


def _hash(kind: str, parts: Sequence[str], properties: Mapping[str, Any]) -> bytes:
    text = json.dumps([kind, parts, properties], sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
