"""The composition root: the only place that names concrete agents, evaluators, judges, graphs and
stores.
"""
