"""Guards for the end of a conversation: given up, ended too early, or never."""

from __future__ import annotations

import re

from bioeval_tui.evaluation.conversation.transcript import only_goodbye, says_goodbye
from bioeval_tui.evaluation.guards.common import (
    is_in_english,
    last_agent_message,
    said_by_user,
    sentences,
    signs_off,
    so_far,
    tasks_told,
    without_signoff,
    word_count,
)
from bioeval_tui.evaluation.guards.content import untouched_tasks
from bioeval_tui.evaluation.seams import EvaluatorView, TranscriptMessage, Violation
from bioeval_tui.text import clean_line, shorten

LONGEST_GIVING_UP = 25
"""A longer message, in words, that has such a phrase does not give up."""

_REQUEST = re.compile(
    r"\?|\b(?:please|could you|can you|would you|tell me|show me|give me|remind me|i need|i want|i['’]d like|i would like)\b",
    re.IGNORECASE,
)
# A question that "that's all" or "no, thanks" answers.
_OFFER = re.compile(
    r"\b(?:anything|something|what) else\b|\belse (?:i|we|you) |\bany (?:other |further |more )?(?:questions|concerns)\b|\b(?:can|could|may|shall) i\b"
    r"|\bwould you like\b|\b(?:help|assist) you\b|\blet me know if\b|\b(?:ok|okay|all ?right|sounds? good|makes? sense)\W*$",
    re.IGNORECASE,
)
_ANSWERS = re.compile(r"^\W*(?:no|nope|not|yes|yeah|yep|sure|okay|ok|please|alright)\b", re.IGNORECASE)
# An answer to "Any other symptoms?"
_THAT_IS_ALL = re.compile(
    r"^\W*(?:(?:no|nope|i (?:think|guess|believe)),? )*that(?:['’]s| is) (?:all|everything|about it)\b[^.!,]*[.!]?\s*$",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:what|when|where|which|who|how|why|describe|provide|tell me|let me know|specify)\b", re.IGNORECASE
)
_GIVES_UP = re.compile(
    r"^\W*(?:\w+,? ){0,2}?(?:never ?mind\b|forget (?:it|about it|this|the whole thing)\b|drop it\b|i(?:'ll| will)? (?:just )?(?:give up|quit)\b"
    r"|i(?:'m| am) (?:giving up|out of here|leaving|done(?: here| talking| with (?:this|you|it)(?: \w+)?)?(?=\W*$))|whatever\b)"
    r"|\b(?:i(?:'m| am) done|i give up|i(?:'m| am) giving up)(?=\W*$)|\bi give up on (?:this|you|it)\b"
    r"|\bi(?:'ve| have) had (?:enough(?=\W*$)|enough of (?:this|you)(?=\W*$))"
    r"|\b(?:this|it|talking to you)(?:'s| is) (?:all )?(?:pointless|useless|hopeless|no use|a waste of (?:my )?time|going nowhere|getting (?:us|me) nowhere)\b"
    r"|\b(?:you(?:'re| are)|i(?:'m| am)|just) wasting my time\b|\bwaste of (?:my )?time(?=\W*$)"
    r"|\byou(?:'re| are) (?:not helping|no help|not (?:being )?(?:any |very )?help(?:ful)?|useless)(?=\W*$|[,;])"
    r"|\bi (?:don't|do not) (?:want|feel like|care) (?:to )?(?:talk|talking|go on|continue|discuss|discussing|do)\b[^.?!]{0,30}\b(?:any ?more|any longer)\b"
    r"|\bi(?:'ll| will) (?:just |rather |simply )?(?:ask|try|call|find|look for|go to) (?:someone|somebody|somewhere|another \w+|it) ?(?:else|elsewhere)?(?=\W*$)"
    r"|\b(?:let's|let us) (?:just )?(?:drop|forget|leave|stop) (?:it|this|that)?(?: here| there)?(?=\W*$)",
    re.IGNORECASE,
)


class _Requests:
    """Counts the user's messages that ask for something."""

    def __init__(self, view: EvaluatorView) -> None:
        self.count = 0

    def take(self, message: TranscriptMessage) -> None:
        """Receive the next message."""
        self.count += message.role == "user" and bool(_REQUEST.search(message.content))


def early_end(view: EvaluatorView, text: str) -> Violation | None:
    """Find a goodbye while a task has not been brought up, or instead of an answer to the agent's question."""
    if not signs_off(view, text) and not says_goodbye(text):
        return None
    if not is_in_english(view):
        return None
    left = untouched_tasks(view, text)
    requests = so_far(view, _Requests).count + bool(_REQUEST.search(without_signoff(view, text)))
    # As many requests as tasks: the last may use other words than the task.
    if left and requests < len(tasks_told(view)):
        task = shorten(clean_line(view.job.tasks[left[0] - 1].task), 80)
        return Violation(
            "early_signoff",
            f"ends while task {left[0]} has not been brought up: “{task}”",
            f"You said goodbye too early. You have not yet brought up: {task}. Bring it up now.",
            "mark",
        )
    question = _unanswered(view, text)
    if not question:
        return None
    return Violation(
        "early_signoff",
        f"says goodbye instead of answering “{shorten(question, 80)}”",
        "You said goodbye, but the chatbot had asked you something. Answer it first.",
        "mark",
    )


def _unanswered(view: EvaluatorView, text: str) -> str:
    """Return the agent's question to which a message says only goodbye; empty if it asked nothing that needs an answer."""
    words = without_signoff(view, text)
    if words and (not only_goodbye(words) or _THAT_IS_ALL.search(words)):
        return ""
    asked = [part for part in sentences(last_agent_message(view)) if part.endswith("?")]
    asked = [part for part in asked if not _OFFER.search(part)]
    if not asked or (_ANSWERS.search(words) and not _OPEN.search(asked[-1])):
        return ""
    return asked[-1]


def keeps_saying_goodbye(view: EvaluatorView, text: str) -> bool:
    """Return whether a message says goodbye, and nothing else, after one that did the same: then the conversation is over.

    Thanks alone are no goodbye until the third time.
    """
    said = said_by_user(view).texts
    if len(said) < 2 or not only_goodbye(text) or not only_goodbye(said[-1]):  # the first is the greeting
        return False
    return says_goodbye(text) or says_goodbye(said[-1]) or (len(said) > 2 and only_goodbye(said[-2]))


def never_ended(view: EvaluatorView, text: str) -> Violation | None:
    """Find the third goodbye in a row. People say it twice."""
    before = said_by_user(view).texts[-2:]
    if signs_off(view, text) or not keeps_saying_goodbye(view, text):
        return None
    if len(before) < 2 or not all(only_goodbye(said) for said in before):
        return None
    return Violation(
        "never_ended",
        f"says goodbye for the third time, without the sign-off: “{shorten(clean_line(text), 80)}”",
        f"You have said goodbye already. Say it with exactly these words: {view.job.evaluator.signoff}",
        "mark",
    )


def gave_up(view: EvaluatorView, text: str) -> Violation | None:
    """Find a message that gives up what the user wanted."""
    words = without_signoff(view, text)
    if word_count(words) > LONGEST_GIVING_UP or "?" in words or re.search(r"\d", words):
        return None
    for part in sentences(words.replace("’", "'")):
        if match := _GIVES_UP.search(part):
            return Violation(
                "gave_up",
                f"gives up: “{shorten(match.group().strip(), 80)}”",
                "You gave up. Stay with what you want until the chatbot has done it, has answered it, or clearly cannot.",
                "mark",
                match.group().strip(),
            )
    return None
