"""What concerns all tests: those that share a real server stay in one process when tests run side by side."""

from __future__ import annotations

import pytest

SHARED_SERVERS = {"tests/integration/neo4j/": "neo4j", "tests/contract/test_knowledge_graph.py": "neo4j"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Name the group of each test that shares a server."""
    for item in items:
        for path, group in SHARED_SERVERS.items():
            if item.nodeid.startswith(path):
                item.add_marker(pytest.mark.xdist_group(group))
