"""Error views of one submission: where it is right and wrong, and for which groups."""
