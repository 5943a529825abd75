"""What the screens are given: implements `tui/services.py` with files, engines and grading workers."""
