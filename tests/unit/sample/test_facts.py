"""The sample agent's built-in knowledge is consistent."""

from __future__ import annotations

from bioeval_tui.sample.agent.facts import BUILT_IN


def test_every_interaction_is_between_known_drugs_and_listed_once() -> None:
    names = {drug.name for drug in BUILT_IN.drugs}
    pairs = [frozenset((pair.first, pair.second)) for pair in BUILT_IN.interactions]
    assert all(pair <= names and len(pair) == 2 for pair in pairs)
    assert len(set(pairs)) == len(pairs)


def test_every_fact_of_the_sample_agent_has_a_source() -> None:
    assert all(item.source for item in (*BUILT_IN.drugs, *BUILT_IN.interactions, *BUILT_IN.variants))


def test_sample_patients_are_labelled_synthetic_and_take_known_drugs() -> None:
    names = {drug.name for drug in BUILT_IN.drugs}
    assert all(patient.id.startswith("SYN-") and set(patient.drugs) <= names for patient in BUILT_IN.patients)
