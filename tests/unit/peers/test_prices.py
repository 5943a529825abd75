"""An unknown price is unknown, never 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from bioeval_tui.base.errors import InputError
from bioeval_tui.peers.prices import Price, load_prices

OPENAI = "api.openai.com"


def test_included_prices_apply_only_to_the_providers_own_host() -> None:
    prices = load_prices(None)
    assert prices.of("gpt-4.1-mini", OPENAI) == Price(0.4, 1.6)
    assert prices.of("gpt-4.1-mini-2025-04-14", OPENAI) == Price(0.4, 1.6)
    assert prices.of("gpt-4.1-mini", "localhost:8000") is None
    assert prices.of("no-such-model", OPENAI) is None
    assert prices.of(None, OPENAI) is None


def test_your_own_price_table_applies_everywhere(tmp_path: Path) -> None:
    file = tmp_path / "prices.yml"
    file.write_text("gpt-4.1-mini: {in: 1, out: 2.5}\nlocal: {in: 0, out: 0}\n")
    prices = load_prices(tmp_path)
    assert prices.of("gpt-4.1-mini", OPENAI) == Price(1.0, 2.5)
    assert prices.of("local", "localhost:8000") == Price(0.0, 0.0)
    assert Price(1.0, 2.5).cost(1_000_000, 2_000_000) == 6.0


@pytest.mark.parametrize(
    "text",
    [
        "m: 3",
        "m: {in: 1}",
        "m: {in: -1, out: 1}",
        "m: {in: yes, out: 1}",
        "m: {in: .nan, out: 1}",
        "- m",
        "m: {in: 1",
        f"m: {{in: {'9' * 5000}, out: 1}}",
        "m: {in: 2026-13-45, out: 1}",
    ],
)
def test_an_invalid_price_table_is_one_sentence_that_names_the_file(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "prices.yml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load_prices(tmp_path)
    assert "prices.yml" in str(caught.value.problems[0])
