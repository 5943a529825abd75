"""The real FHIR server that these tests start: the one of `scripts/fhir-for-tests`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bioeval_tui.fhir.server import FhirServer

SCRIPT = Path(__file__).parents[3] / "scripts" / "fhir-for-tests"
REQUIRED = os.environ.get("BIOEVAL_REQUIRE_REAL") == "1"
TOKEN = "token-of-the-tests"


@contextmanager
def running(*options: str) -> Iterator[str]:
    """Serve while the block runs; give the base URL. Skip where it is not installed, and install it
    (and fail without it) where it is required.
    """
    if not REQUIRED and subprocess.run([sys.executable, str(SCRIPT), "status"]).returncode != 0:
        pytest.skip("no FHIR server is installed: `scripts/fhir-for-tests install` does that")
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), "run", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as script:
        assert script.stdin is not None
        assert script.stdout is not None
        url = script.stdout.readline().strip().removeprefix("FHIR_BASE_URL=")
        if not url:
            pytest.fail("the FHIR server did not start")
        yield url
        script.stdin.close()


@pytest.fixture(scope="session")
def base() -> Iterator[str]:
    with running() as url:
        yield url


@pytest.fixture(scope="session")
def guarded() -> Iterator[str]:
    """One that answers only requests with the token."""
    with running("--token", TOKEN) as url:
        yield url


@pytest.fixture
async def server(base: str) -> AsyncIterator[FhirServer]:
    one = FhirServer(base)
    yield one
    await one.aclose()
