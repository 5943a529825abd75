"""The rates that docs/guards.md gives are those of the labelled messages."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("guard_rates", ROOT / "scripts" / "guard-rates.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_enough_messages_of_every_kind(script):
    messages = script.load_messages()
    assert len(messages) >= 60
    assert sum(not message["labels"] for message in messages) >= 60
    for rule in script.RULES:
        assert sum(rule in message["labels"] for message in messages) >= 10


@pytest.mark.parametrize("split", ["first", "second"])
def test_the_docs_give_the_rates_as_they_are(script, split):
    docs = (ROOT / "docs" / "guards.md").read_text(encoding="utf-8")
    for line in script.table(split):
        assert line in docs


@pytest.mark.parametrize("split", ["first", "second"])
def test_guards_hit_and_seldom_raise_false_alarms(script, split):
    for hits, broken, alarms, kept in script.rates(split).values():
        assert hits / broken >= 0.9
        assert alarms / kept <= 0.03
