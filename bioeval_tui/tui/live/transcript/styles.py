"""The style sheet of the transcript, and the styles of what is painted in it."""

from __future__ import annotations

CSS = """
Transcript {
    background: $background;
    color: $foreground;
    overflow-x: hidden;
    overflow-y: auto;
    scrollbar-gutter: stable;
    scrollbar-size-vertical: 1;
    scrollbar-color: $foreground 20%;
    scrollbar-color-hover: $foreground 35%;
    scrollbar-color-active: $foreground 50%;
    scrollbar-background: $background;
    scrollbar-background-hover: $background;
    scrollbar-background-active: $background;
}
"""
STYLES = {
    "speaker-user": "bold $text-accent",
    "speaker-assistant": "bold $text-primary",
    "speaker-operator": "bold $text-warning",
    "side-user": "$accent",
    "side-assistant": "$primary",
    "side-operator": "$warning",
    "parting": "$text-warning",
    "note": "$foreground 66%",
    "event": "$foreground 70%",
    "latency": "$foreground 85%",
    "fact": "$text-success",
    "warn": "$text-warning",
    "good": "$text-success",
    "bad": "$text-error",
    "caret": "$text-primary",
    "rule": "$foreground 30%",
    "heading": "bold $foreground",
    "link": "underline $text-secondary",
    "inline-code": "$text-accent",
    "code": "$foreground 90%",
    "code-comment": "italic $foreground 66%",
    "code-keyword": "$text-primary",
    "code-string": "$text-success",
    "code-number": "$text-warning",
    "code-name": "$text-accent",
    "match": "on $warning 35%",
    "match-current": "bold auto 95% on $warning",
    "evidence": "on $primary 40%",
    "cursor": "on $foreground 10%",
}
"""What lines are painted in. No component classes: Textual would compute each of them again
whenever a transcript gets or loses the focus, before it answers the key.
"""
