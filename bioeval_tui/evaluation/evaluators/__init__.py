"""Evaluators, which play the user: a script, a language model, or a person."""
