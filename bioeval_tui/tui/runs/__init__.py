"""The screens of recorded runs: their list, the comparison of two, and the grid of a batch."""
