"""Evaluating agents: jobs, conversations, assertions, judges, and the engine that holds them."""
