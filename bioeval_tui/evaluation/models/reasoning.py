"""Takes the reasoning away that a model or its server leaves before the answer."""

from __future__ import annotations

import re

REASONING_TAGS = "think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad|seed:think|antml:thinking|mm:think"
"""The names of the tags around reasoning, as alternatives of a pattern."""
REASONING_BEGINS = re.compile(
    rf"\s*(?:<(?:{REASONING_TAGS})>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|think_start\|>)",
    re.IGNORECASE,
)
REASONING_ENDS = re.compile(
    rf"</(?:{REASONING_TAGS})>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|/?think_end\|>", re.IGNORECASE
)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]{0,100}(?:<\|constrain\|>[^<]{0,50})?<\|message\|>")
_BARE_CHANNELS = re.compile(r"\s*analysis(?=\S).*?assistantfinal", re.DOTALL)
_QUOTES = re.compile(r"\s*[{\[`]")
"""JSON and code may speak of a tag."""


def without_reasoning(text: str) -> str:
    """Return an answer without the reasoning before it: a block, also without its opening tag, or a channel of harmony.

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
    return "" if begins is not None else _without_channels(text[at:])


def _without_channels(text: str) -> str:
    if channels := list(_CHANNEL.finditer(text)):
        final = [found for found in channels if found.group(1).lower() == "final"]
        return text[final[-1].end() :] if final else ""
    if "<|message|>" in text:
        return text.rpartition("<|message|>")[2]
    bare = _BARE_CHANNELS.match(text)
    return text[bare.end() :] if bare else text
