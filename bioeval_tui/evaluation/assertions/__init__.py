"""Assertions: checks of state after a turn and at the end, one module per kind."""
