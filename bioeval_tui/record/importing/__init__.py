"""Imports recordings of other tools: the formats, in the table of `formats` or as plug-ins, and
what their readers use.
"""
