"""What is scored of a task's answers: the columns and the metric that `config.yaml` declares, and
the rows of a part.

`tasks split` writes `part.json` beside the answers of a part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.text import clean_line

if TYPE_CHECKING:
    from bioeval_tui.grade.metrics import Metric


H5AD_KINDS = ("obs", "obsm", "layers", "X")


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """The settings of a declarative grader.

    `targets` are columns of the answers and `predictions` those of the submission, one for each;
    several are scored one by one and averaged. `h5ad` is `(kind, key)` with kind one of
    `H5AD_KINDS`, else None.
    """

    metric: Metric
    id: str = "id"
    targets: tuple[str, ...] = ()
    predictions: tuple[str, ...] = ()
    event: str | None = None
    h5ad: tuple[str, str] | None = None


def metric_spec(config: Mapping[str, Any]) -> MetricSpec:
    """Read what `grader` of a `config.yaml` declares.

    Raises:
        InputError: a key is missing or wrong; the sentence names it.
    """
    # brings numpy, which a batch's own process never needs
    from bioeval_tui.grade.metrics import (
        find_metric,
    )

    try:
        metric = find_metric(str(config["metric"]))
    except KeyError as error:
        raise InputError(f"`grader.metric`: {error.args[0]}") from None
    h5ad = config.get("h5ad")
    if h5ad is not None:
        if not isinstance(h5ad, dict) or len(h5ad) != 1 or next(iter(h5ad)) not in H5AD_KINDS:
            raise InputError(f"`grader.h5ad` must contain one of {', '.join(H5AD_KINDS)}")
        kind, key = next(iter(h5ad.items()))
        return MetricSpec(metric, h5ad=(kind, str(key)))
    targets = _columns(config, "target")
    if not targets:
        raise InputError("`grader.target` must name the target column or a list of them")
    predictions = _columns(config, "prediction") or targets
    if len(predictions) != len(targets):
        raise InputError("`grader.prediction` needs as many columns as `grader.target`")
    event = config.get("event")
    if metric.kind == "survival" and not isinstance(event, str):
        raise InputError(f"`grader.event` must name the event column for {metric.name}")
    return MetricSpec(metric, str(config.get("id", "id")), targets, predictions, event)


def _columns(config: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = config.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        return (str(value),)
    return tuple(map(str, value))


PART_FILE = "part.json"


@dataclass(frozen=True, slots=True)
class AnswersPart:
    """A part of a task's answers: its name, the column of ids, the ids of all answers, and how many
    are of this part.
    """

    name: str
    id: str
    ids: tuple[Any, ...]
    rows: int

    @property
    def words(self) -> str:
        """What every report on this part says."""
        said = (
            f"scored on the {self.name} part of the answers ({self.rows:,} of {len(self.ids):,}"
            " rows)"
        )
        if self.name == "public":
            return f"{said}; the final board uses the private part"
        return said


def read_part(private: Path) -> AnswersPart | None:
    """Return the part that a task's private folder has; None if it has all answers.

    Raises:
        InputError: `part.json` is damaged.
    """
    path = private / PART_FILE
    if not path.is_file():
        return None
    try:
        value = json.loads(path.read_bytes())
        return AnswersPart(
            str(value["part"]), str(value["id"]), tuple(value["ids"]), int(value["rows"])
        )
    except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read: {clean_line(str(error), 120)}") from None
