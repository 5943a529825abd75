"""The Textual application.

Screens render state and send intents; they never fetch, compute or decide.
"""
