"""Plug-ins that this package brings itself: one folder each, registered by its entry points in
pyproject.toml.

Nobody imports them: `plugins` loads one when its name is used, as it loads another package's. Each
can be deleted together with its entry points.
"""
