"""Attempts to get out: of expressions, templates, YAML, queries and paths; into the terminal; at the credentials."""
