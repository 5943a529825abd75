"""BioML-bench's names, for graders and programs that were written for it."""
