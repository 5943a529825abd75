"""Questions about variants and their classification."""

from __future__ import annotations

import re
from dataclasses import asdict

from bioeval_tui.sample.agent.facts import Variant
from bioeval_tui.sample.agent.turn import DialogueTurn

_VARIANT = re.compile(
    r"\b(?:variants?|mutations?|pathogenic|benign|classif\w+|vus|polymorphism)\b", re.IGNORECASE
)
_VUS = re.compile(r"\b(?:vus|uncertain significance|unknown significance)\b", re.IGNORECASE)
_VUS_ADVICE = (
    "A variant of uncertain significance (VUS) is neither known to cause disease nor known to be"
    " harmless. It should not guide treatment or surveillance on its own; personal and family"
    " history do. Classifications change, so ask the laboratory or a genetic counsellor from time"
    " to time whether it was reclassified (ACMG/AMP guideline 2015)."
)
_LIKE_A_VARIANT = re.compile(r"\b(?:[A-Z]\d{2,4}[A-Z]|\d{2,5}(?:del|ins|dup)[ACGT]*|rs\d{3,})\b")


def opens(turn: DialogueTurn) -> bool:
    """Return whether the message asks about a variant."""
    message = turn.message
    return (
        bool(message.variants or message.hgvs) or message.matches(_VUS) or message.matches(_VARIANT)
    )


async def start(turn: DialogueTurn) -> str:
    """Answer a question about a variant."""
    message, state = turn.message, turn.state
    gene = next(iter(message.genes), state.variant)
    known = [
        variant
        for variant in message.variants
        if not message.genes or variant.gene in message.genes
    ]
    named = next(iter(message.hgvs), "") or _named(message.text)
    if known:
        return "\n\n".join(_classified(turn, variant) for variant in known)
    if message.matches(_VUS) and not named:
        return _VUS_ADVICE
    if named:
        return _unknown(turn, gene, named)
    state.variant = gene
    if gene:
        return turn.ask(
            "variant.which",
            f"Which variant in {gene}? Its HGVS name is best, such as c.20A>T or p.Glu7Val.",
        )
    return turn.ask(
        "variant.which", "Which gene and which variant? Its HGVS name is best, such as HBB c.20A>T."
    )


async def proceed(turn: DialogueTurn) -> str:
    """Answer a message that says which variant was meant."""
    turn.state.awaiting = None
    if turn.message.variants or turn.message.hgvs or _named(turn.message.text):
        return await start(turn)
    if turn.message.genes and not turn.state.variant:
        return await start(turn)
    gene = turn.state.variant
    listed = [variant for variant in turn.knowledge.variants if variant.gene == gene]
    if turn.guesses and listed:
        return _classified(turn, listed[0])
    return (
        f"Without the exact variant I can't say how it is classified: {gene or 'a gene'} has"
        " harmless and harmful ones. You find it in the laboratory's report."
    )


def _named(text: str) -> str:
    match = _LIKE_A_VARIANT.search(text)
    if match:
        return match.group()
    return ""


def _classified(turn: DialogueTurn, variant: Variant) -> str:
    turn.state.awaiting, turn.state.variant = None, ""
    turn.look_up(variant.name)
    arguments = {"gene": variant.gene, "variant": variant.name}
    turn.called("classifyVariant", arguments, asdict(variant), "how is the variant classified?")
    return (
        f"**{variant.gene} {variant.name}** ({variant.protein}) is classified as"
        f" **{variant.classification}** for {variant.condition}. Source: {variant.source}. Ask a"
        " clinician or genetic counsellor what it means for a person."
    )


def _unknown(turn: DialogueTurn, gene: str, named: str) -> str:
    turn.state.awaiting, turn.state.variant = None, ""
    turn.called(
        "classifyVariant",
        {"gene": gene, "variant": named},
        "not found",
        "how is the variant classified?",
    )
    return (
        f"I have no classification of {(gene + ' ' + named).strip()} in my graph. Please treat it"
        f" as uncertain until a laboratory has classified it. {_VUS_ADVICE}"
    )
