"""Leave this folder out where no real model is installed; start one server for most of its
tests.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.real_model import PYTHON, RealModel

collect_ignore_glob = [] if PYTHON else ["test_*.py"]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealModel]:
    with RealModel(tmp_path_factory.mktemp("model") / "server.log") as running:
        yield running
