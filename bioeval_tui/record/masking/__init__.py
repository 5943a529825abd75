"""Masking: the names and identifiers of a rules file are replaced in everything that is shown or written.

`rules` reads the rules and finds their matches in a text, `mask` applies them to events, values and streamed text;
`current` has the mask of this process. Whatever reads something from outside masks it
there, once. This is masking, never de-identification: it only replaces matches of its rules.
"""
