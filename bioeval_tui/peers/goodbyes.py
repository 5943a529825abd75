"""How a simulated user ends a conversation: with the job's sign-off, or with a goodbye in other
words.

Each user message is searched for the sign-off (`without_signoff`, in `conversation/turns.py`; again
wherever a recording is read for what was sent). Guards ask for goodbyes: `only_goodbye` for a
message that should have been an answer, `says_goodbye` for one that ends without a sign-off.
`agent_hung_up` says who began.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat

from bioeval_tui.languages import Language, folded
from bioeval_tui.languages.segments import word_count
from bioeval_tui.languages.speech import possible_languages, says, split_sentences
from bioeval_tui.peers.seams import TranscriptMessage

_APOSTROPHES = "'’ʼ"
_MARKS = '*_"“”'
"""Emphasis and quotation marks."""
_ENDS = ".!?…"


def without_signoff(content: str, signoff: str) -> str | None:
    """Return the words around the sign-off (may be empty), or None if `content` does not contain
    it.

    Only its words and their order count, because models change its punctuation, emphasis, case and
    line breaks.
    """
    parts = _pattern(signoff).split(content)
    if len(parts) == 1:
        return None
    parts[:-1] = [part.rstrip(_MARKS) for part in parts[:-1]]
    parts[1:] = [part.lstrip(_MARKS + _ENDS) for part in parts[1:]]
    rest = " ".join(parts).strip()
    if re.search(r"[^\W_]", rest):
        return rest
    return ""


# Without a repeat that can begin anywhere, because models may write 100,000 marks: that would take
# minutes.
@lru_cache(maxsize=64)
def _pattern(signoff: str) -> re.Pattern[str]:
    words = re.findall(rf"[^\W_]+(?:[{_APOSTROPHES}][^\W_]+)*", signoff)
    if not words:  # a sign-off of signs alone, such as a waving hand
        return re.compile(re.escape(signoff.strip()))
    spelled = (re.sub(f"[{_APOSTROPHES}]", f"[{_APOSTROPHES}]?", re.escape(word)) for word in words)
    between = r"[\W_]+"
    return re.compile(rf"(?<![^\W_]){between.join(spelled)}(?![^\W_])", re.IGNORECASE)


# These two decide `only_goodbye`, which "goodbye instead of an answer" and "goodbye three times" of
# docs/guards.md measure (scripts/seed-faults.py).
FILLER = 5
"""A sentence of at most this many words beside a goodbye says nothing: "Great, I will."."""
LONGEST_GOODBYE = 40
"""Longer messages, in words, say more than goodbye."""


def only_goodbye(text: str) -> bool:
    """Return whether a message says nothing but thanks and goodbye."""
    plain = text.replace("’", "'")
    if _ASKS.search(plain) or not _closes(plain):
        return False
    if word_count(plain[:1000]) > LONGEST_GOODBYE or any(
        map(_asks_for_more, possible_languages(plain), repeat(plain))
    ):
        return False
    return all(_closes(part) or word_count(part) <= FILLER for part in split_sentences(plain))


def says_goodbye(text: str) -> bool:
    """Return whether a message says goodbye in whatever words, such as "That's all, thank you"."""
    return (
        bids_farewell(text)
        or _CLOSING.search(text.replace("’", "'")) is not None
        or says(text, "closings")
    )


def bids_farewell(text: str) -> bool:
    """Return whether a message has a word of farewell, in one of `LANGUAGES`."""
    return _FAREWELL.search(text.replace("’", "'")) is not None or says(text, "farewells")


def agent_hung_up(messages: Sequence[TranscriptMessage], signoff: str) -> bool:
    """Return whether the goodbyes that end a conversation were begun by the agent, so that a user
    who is polite says goodbye, too.

    This is the only place that decides it, for whether the user failed and for each task's score.
    """
    began = False
    for back, message in enumerate(reversed(messages)):
        of_agent = message.role == "assistant"
        if _hangs_up(message.content, signoff if of_agent else None):
            began = of_agent
        # A goodbye may be answered with anything, and the last one may have no answer.
        elif back > 0:
            break
    return began


def _hangs_up(text: str, signoff: str | None) -> bool:
    """Return whether a message says goodbye, that the chat is closed, or the `signoff`."""
    if bids_farewell(text) or _CHAT_IS_OVER.search(text) is not None:
        return True
    return signoff is not None and without_signoff(text, signoff) is not None


def _closes(text: str) -> bool:
    return says_goodbye(text) or _THANKS.search(text) is not None or says(text, "thanks")


def _asks_for_more(language: Language, text: str) -> bool:
    """Return whether a text asks for something in `language`, besides what it says as a goodbye."""
    said = folded(text)
    for table in ("closings", "thanks", "farewells"):
        said = language.phrases(table).remove(said)
    return any(language.phrases(table).find(said) for table in ("requests", "further"))


_FAREWELL = re.compile(
    r"\b(?:good\s?-?bye|bye(?:[- ]bye)?|farewell|cheerio|so long(?! as)|take care(?! of)|see"
    r" (?:you|ya)|good night|until next time"
    r"|(?:talk|speak) (?:to you )?(?:soon|later)|all the best|best wishes"
    r"|au revoir|auf wiedersehen|tsch(?:ü|ue)ss|hasta luego|adi[oó]s|arrivederci|ciao|tot"
    r" ziens)(?!\w)",
    re.IGNORECASE,
)
_CHAT_IS_OVER = re.compile(
    r"\b(?:conversation|chat|session) (?:is|has been) (?:now )?(?:over|closed|ended|finished)\b",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\b(?:you too|same to you|(?:i'm|i am|we're) all set|i'll (?:definitely |certainly )?(?:reach"
    r" out|be in touch|get back)"
    r"|that(?:'s| is|'ll be| will be| would be| should be| was) (?:really )?(?:all|everything)(?:"
    r" (?:i|for)\b|\W*$)"
    # compliments and wishes, which an agent may say at the end of a task
    r"|(?<!i )(?<!to )have an? (?:\w+"
    r" ){0,2}(?:day|one|evening|night|weekend|week|afternoon|morning|trip|flight)"
    r"|you(?:'re| are|'ve been| have been| were) (?:so |very |really |truly |all |the |an? |most"
    r" |just )*"
    r"(?:help\w*|kind|great|wonderful|best|amazing|awesome|patient|excellent|lenient|friendly"
    r"|lifesaver|star)"
    r"|i (?:hope|wish) (?:it|this|that|you|all|everything))(?!\w)",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"\b(?:thank(?:s| you)?|thx|appreciate[ds]?|grateful|cheers|merci|danke|gracias|grazie)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"[?？؟]|\b(?:please|(?:could|can|would) you|(?<!if )(?<!all )(?<!everything )(?<!what )i(?:'d"
    r" like| would like| need(?!ed)| want(?!ed))(?! (?:nothing|to thank))|but|also)\b|\d",
    re.IGNORECASE,
)
