"""Simulations behind docs/validation.md: `scripts/validate-statistics` runs them whole, the tests a
small part.
"""
