"""What concerns all tests: those that share a real server stay in one process when tests run side by side.

Hypothesis tries the same examples in every run, so that a red run means a change and not luck, and sets no
deadline, as time is measured in benchmarks/ only. `HYPOTHESIS_PROFILE=search` looks for new examples.
"""

from __future__ import annotations

import os

import hypothesis
import pytest

hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.register_profile("search", deadline=None, max_examples=5_000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

SHARED_SERVERS = {"tests/integration/neo4j/": "neo4j", "tests/contract/test_knowledge_graph.py": "neo4j"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Name the group of each test that shares a server."""
    for item in items:
        for path, group in SHARED_SERVERS.items():
            if item.nodeid.startswith(path):
                item.add_marker(pytest.mark.xdist_group(group))
