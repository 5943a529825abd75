"""Masking: names and identifiers that a rules file gives are replaced in everything that is shown or written.

`rules_file` reads the rules, `rules` finds what they mean in a text, `mask` takes them through events and values,
`stream` through text that comes in pieces, `proxy` through whatever the screens are given, and `current` holds the
mask of this process. This is masking, never de-identification: it replaces what its rules find.
"""
