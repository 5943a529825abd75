"""Attempts to escape from expressions, templates, YAML, queries and paths, to the terminal and to
credentials.
"""
