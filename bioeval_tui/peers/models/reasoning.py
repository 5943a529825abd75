"""Reasoning that a model or its server leaves before the answer: the marks around it, and how it is
taken away.

The evaluator and the judge take it away from a whole answer (`strip_reasoning`); while an answer
streams, the evaluator looks for the marks itself. A guard looks for tags that were left.
"""

from __future__ import annotations

import re

REASONING_TAGS = (
    "think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad"
    "|seed:think|antml:thinking|mm:think"
)
"""The names of the tags around reasoning, as alternatives of a pattern."""
REASONING_BEGINS = re.compile(
    rf"\s*(?:<(?:{REASONING_TAGS})>|\[THINK\]|◁think▷"
    r"|<\|begin_of_thought\|>|<\|think_start\|>|<\|START_THINKING\|>"
    r"|(?:<unused94>|<\|channel>)thought\b)",
    re.IGNORECASE,
)
REASONING_ENDS = re.compile(
    rf"</(?:{REASONING_TAGS})>|\[/THINK\]|◁/think▷"
    r"|<\|end_of_thought\|>|<\|/?think_end\|>|<\|END_THINKING\|>"
    r"|<unused95>|<channel\|>|\[BEGIN FINAL RESPONSE\]",
    re.IGNORECASE,
)
LONGEST_END = 30
"""No mark of the end of reasoning has more characters."""
_CHANNEL = re.compile(
    r"<\|channel\|>\s*(\w+)[^<]{0,100}(?:<\|constrain\|>[^<]{0,50})?<\|message\|>"
)
_IN_WORDS = re.compile(
    r"\s*(?:analysis(?=\S).*?assistantfinal|Here(?:'s| is) my thought process:.*?Here(?:'s| is) my"
    r" response:)",
    re.DOTALL,
)
"""Reasoning between words instead of marks: harmony whose marks the server left out, and Granite's.
"""
_QUOTES = re.compile(r"\s*[{\[`]")
"""JSON and code may speak of a tag."""


def strip_reasoning(text: str) -> str:
    """Return an answer without the reasoning before it: a block, also without its opening tag, or a
    channel of harmony.

    Empty if the reasoning never ends. Takes time linear in the length of the text.
    """
    at = 0
    while True:
        begins = REASONING_BEGINS.match(text, at)
        if begins is None and _QUOTES.match(text, at):
            return text[at:]
        ends = REASONING_ENDS.search(text, at)
        if ends is None:
            break
        at = ends.end()
    if begins is not None:
        return ""
    return _strip_channels(text[at:])


def _strip_channels(text: str) -> str:
    if channels := list(_CHANNEL.finditer(text)):
        final = [channel for channel in channels if channel.group(1).lower() == "final"]
        if final:
            return text[final[-1].end() :]
        return ""
    if "<|message|>" in text:
        return text.rpartition("<|message|>")[2]
    in_words = _IN_WORDS.match(text)
    if in_words:
        return text[in_words.end() :]
    return text
