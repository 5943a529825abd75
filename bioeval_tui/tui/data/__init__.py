"""The implementation of `tui/services.py` with files, engines and grading workers."""
