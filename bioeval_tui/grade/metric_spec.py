"""The settings of a declarative grader in `config.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bioeval_tui.errors import InputError

if TYPE_CHECKING:
    from bioeval_tui.grade.metrics import Metric

H5AD_KINDS = ("obs", "obsm", "layers", "X")


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """The settings of a declarative grader.

    `targets` are columns of the answers and `predictions` those of the submission, one for each; several
    are scored one by one and averaged. `h5ad` is `(kind, key)` with kind one of `H5AD_KINDS`, else None.
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
    from bioeval_tui.grade.metrics import find_metric  # brings numpy, which a batch's own process never needs

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
    values = value if isinstance(value, list) else [value]
    return tuple(str(item) for item in values)
