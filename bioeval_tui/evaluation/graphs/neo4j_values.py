"""Converts values of Neo4j's driver to JSON-like values."""

from __future__ import annotations

import base64
import math
from typing import Any


def plain(value: Any) -> Any:
    """Convert a value of the driver to JSON types.

    Nodes, relationships and paths become objects of the same shape as the embedded graph's; moments,
    dates and durations ISO 8601 text; points objects; bytes base64; infinities and NaN their names.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case list():
            return [plain(item) for item in value]
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case bytes() | bytearray():
            return base64.b64encode(value).decode("ascii")
        case _:
            return _graph_value(value)


def _graph_value(value: Any) -> Any:
    if hasattr(value, "labels"):
        return {"id": value.element_id, "labels": sorted(value.labels), "properties": _properties(value)}
    if hasattr(value, "start_node") and hasattr(value, "type"):
        return {
            "id": value.element_id,
            "type": value.type,
            "startNode": value.start_node.element_id if value.start_node else None,
            "endNode": value.end_node.element_id if value.end_node else None,
            "properties": _properties(value),
        }
    if hasattr(value, "relationships") and hasattr(value, "nodes"):
        return {"nodes": [plain(n) for n in value.nodes], "rels": [plain(r) for r in value.relationships]}
    if hasattr(value, "iso_format"):
        return value.iso_format()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "srid"):
        return {"srid": value.srid, "coordinates": [plain(float(part)) for part in value]}
    return str(value)


def _properties(entity: Any) -> dict[str, Any]:
    return {str(key): plain(item) for key, item in entity.items()}
