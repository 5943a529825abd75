"""The rates in docs/guards.md are those measured on the published conversations."""

import pytest

from tests.sources import ROOT, load_script


def test_the_documented_guard_rates_are_the_measured_ones_and_good_enough(
    subtests: pytest.Subtests,
) -> None:
    """One test: measuring takes long, and processes that shared the tests would each measure."""
    script = load_script("guard-rates.py")
    rates, role_rates = script.rates(), script.role_rates()
    with subtests.test("the documented rates are the measured ones"):
        docs = (ROOT / "docs" / "guards.md").read_text(encoding="utf-8")
        for one in (*rates, *role_rates):
            assert one.row in docs
    with subtests.test("a patient in role is rarely marked and almost never void"):
        for one in rates[:2]:
            assert one.in_role > 1_000
            assert one.marked <= 0.04 * one.in_role
            assert one.void <= 0.01 * one.in_role
    with subtests.test("a patient who mentions the vignette is caught"):
        for one in rates[:2]:
            assert one.out_of_role > 80
            assert one.caught >= 0.9 * one.out_of_role
    with subtests.test("a customer is rarely marked and never void"):
        assert rates[2].marked <= 0.01 * rates[2].in_role
        assert rates[2].void == 0
    with subtests.test("a small model's swaps and talk of being a model are noticed"):
        swaps, meta, in_role = role_rates
        assert swaps.noticed >= 0.8 * swaps.messages
        assert meta.noticed >= 0.9 * meta.messages
        assert meta.void >= 0.8 * meta.messages
        assert in_role.noticed <= 0.02 * in_role.messages
        assert in_role.void == 0
