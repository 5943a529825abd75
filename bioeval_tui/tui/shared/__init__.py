"""What several screens use: base classes, dialogs, tables, keys and colours."""
