"""The prompts in the package, as Jinja templates. A job's folder is searched first."""
