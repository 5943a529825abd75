"""The rates in docs/guards.md are those measured on the published conversations."""

import pytest

from tests.sources import ROOT, load_script


@pytest.fixture(scope="module")
def script():
    return load_script("guard-rates.py")


@pytest.fixture(scope="module")
def rates(script):
    return script.rates()


@pytest.fixture(scope="module")
def role_rates(script):
    return script.role_rates()


@pytest.mark.long
def test_the_documented_guard_rates_are_the_measured_ones(rates, role_rates):
    docs = (ROOT / "docs" / "guards.md").read_text(encoding="utf-8")
    for one in (*rates, *role_rates):
        assert one.row in docs


def test_a_patient_in_role_is_rarely_marked_and_almost_never_void(rates):
    for one in rates[:2]:
        assert one.in_role > 1_000
        assert one.marked <= 0.04 * one.in_role
        assert one.void <= 0.01 * one.in_role


def test_a_patient_who_mentions_the_vignette_is_caught(rates):
    for one in rates[:2]:
        assert one.out_of_role > 80
        assert one.caught >= 0.9 * one.out_of_role


def test_a_customer_is_rarely_marked_and_never_void(rates):
    assert rates[2].marked <= 0.01 * rates[2].in_role
    assert rates[2].void == 0


def test_a_small_models_swaps_and_talk_of_being_a_model_are_noticed(role_rates):
    swaps, meta, in_role = role_rates
    assert swaps.noticed >= 0.8 * swaps.messages
    assert meta.noticed >= 0.9 * meta.messages
    assert meta.void >= 0.8 * meta.messages
    assert in_role.noticed <= 0.02 * in_role.messages
    assert in_role.void == 0
