"""The sample agent: a small rule-based biomedical assistant, served over the REST protocol.

It exists to be evaluated: it keeps reminders and medications, answers from a small knowledge graph,
asks back when something is missing, refuses what it should refuse, and is no language model.
"""
