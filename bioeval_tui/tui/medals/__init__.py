"""The screen of graded submissions."""
