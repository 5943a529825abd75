"""The command line: one file for each group of commands. Heavy imports stay inside the commands."""
