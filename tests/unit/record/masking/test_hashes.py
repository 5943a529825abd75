"""Hashes of texts that a mask leaves in events."""

from __future__ import annotations

from bioeval_tui.record.events import read_event
from bioeval_tui.record.masking.mask import Mask
from bioeval_tui.record.masking.rules import LiteralRule, Rules
from tests.unit.report.recorded import GOLDEN

EVENTS = [read_event(line) for line in GOLDEN.read_bytes().splitlines()]
STARTED = EVENTS[0]


def mask(key: bytes = b"") -> Mask:
    return Mask(Rules([LiteralRule.of("Ada", "[PATIENT-1]", is_name=True)], key=key))


def test_equal_hashes_stay_equal_and_nobody_can_compute_them() -> None:
    first, second = mask().event(STARTED, None), mask().event(STARTED, None)
    assert first.job_sha256 == second.job_sha256 != STARTED.job_sha256
    assert len(first.job_sha256) == len(STARTED.job_sha256)
    assert mask(b"1" * 32).event(STARTED, None).job_sha256 != first.job_sha256
    assert mask().event(first, None) == first


def test_without_rules_hashes_stay() -> None:
    assert Mask().events(EVENTS) == EVENTS
