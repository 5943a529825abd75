"""What a model costs: a table in the package, overridden by the user's own in the data folder.

Estimates before a run, the limit on a run's cost, and reports look prices up here (`load_prices`,
then `Prices.of`). A missing price is unknown, never 0. The included prices apply to the provider's
own host only, because the same model on another server may cost something else, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeGuard

import yaml

from bioeval_tui.base.errors import InputError, Problem
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.yaml_positions import load_yaml, syntax_problem

FILE_NAME = "prices.yml"


_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def why_no_price(model: object, host: str) -> str:
    """Return why a model's cost is not known."""
    return f"no price of {model} at {host} in {FILE_NAME}"


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one model, in dollars per million tokens in and out."""

    tokens_in: float
    tokens_out: float

    def cost(self, tokens_in: float, tokens_out: float) -> float:
        """Return the cost of that many tokens, in dollars."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1_000_000


class Prices:
    """Prices by model; the user's own override the included ones."""

    def __init__(
        self, shipped: Mapping[str, Mapping[str, Price]], own: Mapping[str, Price]
    ) -> None:
        """`shipped` is by host, then by model."""
        self._shipped = shipped
        self._own = own

    def of(self, model: str | None, host: str) -> Price | None:
        """Return the price of a model at `host`; None if it is unknown.

        A dated name (`gpt-4.1-mini-2025-04-14`) has the price of the undated one unless it has its
        own.
        """
        if model is None:
            return None
        for name in (model, _DATED.sub("", model)):
            price = self._own.get(name) or self._shipped.get(host.partition(":")[0], {}).get(name)
            if price is not None:
                return price
        return None


@lru_cache(maxsize=1)
def shipped_prices() -> Prices:
    """Return the included prices."""
    return load_prices(None)


def load_prices(data_dir: Path | None) -> Prices:
    """Read the included table and, if the data folder has one, the user's own.

    Raises:
        InputError: the user's file is wrong, with every problem in it.
    """
    text = resources.files("bioeval_tui.peers").joinpath(FILE_NAME).read_text(encoding="utf-8")
    shipped = {host: _table(models, FILE_NAME) for host, models in _yaml(text, FILE_NAME).items()}
    own: Mapping[str, Price] = {}
    own_file = data_dir and data_dir / FILE_NAME
    if own_file is not None and own_file.is_file():
        name = clean_line(str(own_file))
        try:
            own = _table(_yaml(own_file.read_text(encoding="utf-8-sig"), name), name)
        except (OSError, UnicodeDecodeError):
            raise InputError("prices", (Problem("cannot be read as UTF-8 text", name),)) from None
    return Prices(shipped, own)


def _yaml(text: str, file: str) -> dict[str, Any]:
    try:
        data = load_yaml(text)
    except yaml.MarkedYAMLError as error:
        raise InputError("prices", (syntax_problem(error, text, file),)) from None
    except (yaml.YAMLError, ValueError, RecursionError):
        # Numbers and dates that do not exist are a ValueError.
        raise InputError("prices", (Problem("not valid YAML", file),)) from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InputError("prices", (Problem("must be a mapping of models to {in, out}", file),))
    return {str(key): value for key, value in data.items()}


def _table(models: Any, file: str) -> dict[str, Price]:
    prices: dict[str, Price] = {}
    problems = []
    if not isinstance(models, dict):
        return prices
    for model, entry in models.items():
        numbers = [entry.get(key) for key in ("in", "out")] if isinstance(entry, dict) else []
        known = [float(number) for number in numbers if _is_price(number)]
        if len(known) == 2:
            prices[str(model)] = Price(*known)
        else:
            message = "write {in: …, out: …}, dollars for a million tokens, neither below 0"
            problems.append(Problem(message, file, field=clean_line(str(model), 100)))
    if problems:
        raise InputError("prices", tuple(problems))
    return prices


def _is_price(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6
