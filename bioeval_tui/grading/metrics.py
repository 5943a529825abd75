"""The published name of `bioeval_tui.grade.metrics`, whose `Metric` a plug-in of metrics names."""

from bioeval_tui.grade.metrics import METRICS, Metric

__all__ = ["METRICS", "Metric"]
