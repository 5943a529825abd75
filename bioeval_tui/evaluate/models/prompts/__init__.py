"""The prompts that ship with the program, as Jinja templates. A job's own folder is looked at first."""
