"""Phrases that characterise a simulated user: hedges, and phrases that no user would say."""

from __future__ import annotations

import re
from collections.abc import Collection

_HEDGES = (
    "a bit", "almost", "apparently", "approximately", "could be", "fairly", "guess", "hard to say", "i believe",
    "i feel like", "i suppose", "i think", "kind of", "kinda", "likely", "maybe", "might", "more or less", "mostly",
    "not certain", "not really sure", "not sure", "or so", "or something", "perhaps", "possibly", "presumably",
    "probably", "roughly", "seem", "seemed", "seems", "somehow", "something like", "somewhat", "sort of", "sorta",
    "unsure",
)  # fmt: skip
"""Hedges of Hyland, Metadiscourse (2005), that occur in speech, and their spoken forms. Words that hedge only now
and then ("about", "may", "quite") are not among them."""

HEDGE = re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(_HEDGES, key=len, reverse=True))) + r")\b")

OUT_OF_ROLE = re.compile(
    r"\bas an? (?:ai|artificial|large language|language model|virtual|simulated|assistant)\b"
    r"|\bi(?:'m| am) (?:just |only )?an? (?:ai|language model|chatbot|virtual|simulated)\b"
    r"|\blanguage model\b"
    r"|\b(?:the|this|my) (?:vignette|case description|case vignette|system prompt|prompt|scenario)\b"
    r"|\b(?:provided|given) (?:information|facts|text|case)\b"
    r"|\bhow (?:can|may) i (?:help|assist) you\b"
    r"|\bi(?:'m| am) here to (?:help|assist)\b"
    r"|\bthe patient(?:'s)?\b"
)
"""Speaking as a model or assistant, of the script, or of oneself as "the patient"."""

STOP_WORDS: Collection[str] = frozenset(
    re.findall(
        r"\w+",
        """a about after all also an and any are as at be been but by can did do does for from had has have he her his i if in
    into is it its just me my no not of on or our out she so some such than that the their them then there these
    they this to up was we were what when which who will with would you your""",
    )
)
"""Words without information about a fact."""
