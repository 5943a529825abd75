"""Languages other than English: which one a text is in, its words in the form in which they are
compared, and the phrases by which the simulated user's messages are checked.

A language is a file with its `Rules`, and a place in `LANGUAGES`.
"""

from bioeval_tui.languages.detection import LANGUAGES, language_of
from bioeval_tui.languages.language import Language, Phrases, Rules
from bioeval_tui.languages.segments import folded

__all__ = ["LANGUAGES", "Language", "Phrases", "Rules", "folded", "language_of"]
