"""Shared parts of the screens: base classes, dialogs, tables, keys and colours."""
