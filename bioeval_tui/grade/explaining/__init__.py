"""Explains a score: where a submission is right and wrong, for `grade --explain`."""
