"""Which models are of one family, and what is said of a judge of the agent's or the user's.

Models tend to favour what models of their own family write. The table has the families that are
often met; of two names that it does not know, only equal ones are of one family. A name may be of
several: what is distilled of one family into another leans to both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, product

from bioeval_tui.base.text import listed
from bioeval_tui.record.participants import model_names

FAMILIES: dict[str, str] = {
    "Claude": r"claude",
    "Command": r"command-(?:a|r|light|nightly)|c4ai|aya",
    "DeepSeek": r"deepseek",
    "Gemini": r"gemini|palm",
    "Gemma": r"(?:med|tx)?gemma",
    "GLM": r"(?:chat)?glm",
    "GPT": r"(?:chat)?gpt(?!-?(?:j|neo|4all))|o[134](?![a-z0-9])|text-davinci",
    "Granite": r"granite",
    "Grok": r"grok",
    "Kimi": r"kimi",
    "Llama": r"(?:code|bio|tiny)?llama|vicuna|meditron",
    "Mistral": r"(?:bio)?mistral|mixtral|ministral|magistral|codestral|devstral|pixtral",
    "Nova": r"nova-(?:pro|lite|micro|premier)",
    "OLMo": r"olmo",
    "Phi": r"phi-?[0-9]",
    "Qwen": r"qwen|qwq|qvq",
    "SmolLM": r"smollm",
}
"""Each family with the pattern of its models' names, which stands at the beginning of a word.

Vendors, sizes and dates stand around it: `openai/gpt-4.1-2025-04-14`, `us.anthropic.claude-3-5`.
"""
_PATTERNS = {name: re.compile(rf"(?<![a-z])(?:{words})") for name, words in FAMILIES.items()}


def families(model: str) -> frozenset[str]:
    """Return the families of a model: those of the table or, of a name that it does not know, the
    name itself.
    """
    # What stands before the last `/` names who serves the model, such as `ollama` or `openai` for
    # every server that speaks like it.
    name = model.strip().casefold()
    last = name.rstrip("/").rpartition("/")[2]
    known = frozenset(family for family, words in _PATTERNS.items() if words.search(last))
    return known or frozenset({name} - {""})


def family_note(judge: str, agent: str, user: str) -> str:
    """Return a sentence on a judge of the agent's or the simulated user's family; empty if none of
    its models is.

    Each is named as recordings name it (`participants.model_names`): a model or several, with or
    without what servers call them; empty if it is no model, or an unknown one.
    """
    others = {
        "the agent": list(chain.from_iterable(model_names(agent))),
        "the simulated user": list(chain.from_iterable(model_names(user))),
    }
    clauses = []
    for names in model_names(judge):
        alike = {
            whose: pair for whose, theirs in others.items() if (pair := _first_pair(names, theirs))
        }
        if alike:
            own = next(iter(alike.values()))[0]
            listing = listed(f"{whose} ({other})" for whose, (_, other) in alike.items())
            clauses.append(f"the judge {own} is of the same model family as {listing}")
    if not clauses:
        return ""
    return f"{'; '.join(clauses)}: models tend to favour what their own family writes"


def _first_pair(names: Sequence[str], others: Sequence[str]) -> tuple[str, str] | None:
    """Return the first two names that are of one family; None if none are."""
    for name, other in product(names, others):
        if families(name) & families(other):
            return name, other
    return None
