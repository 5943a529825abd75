"""The style sheet of the transcript, and the names of its styles."""

from __future__ import annotations

import re

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
    & > .transcript--speaker-user { color: $text-accent; text-style: bold; }
    & > .transcript--speaker-assistant { color: $text-primary; text-style: bold; }
    & > .transcript--speaker-operator { color: $text-warning; text-style: bold; }
    & > .transcript--side-user { color: $accent; }
    & > .transcript--side-assistant { color: $primary; }
    & > .transcript--side-operator { color: $warning; }
    & > .transcript--parting { color: $text-warning; }
    & > .transcript--note { color: $foreground 60%; }
    & > .transcript--event { color: $foreground 70%; }
    & > .transcript--latency { color: $foreground 85%; }
    & > .transcript--fact { color: $text-success; }
    & > .transcript--warn { color: $text-warning; }
    & > .transcript--bad { color: $text-error; }
    & > .transcript--caret { color: $text-primary; }
    & > .transcript--rule { color: $foreground 30%; }
    & > .transcript--heading { color: $foreground; text-style: bold; }
    & > .transcript--link { color: $text-secondary; text-style: underline; }
    & > .transcript--inline-code { color: $text-accent; }
    & > .transcript--code { color: $foreground 90%; }
    & > .transcript--code-comment { color: $foreground 55%; text-style: italic; }
    & > .transcript--code-keyword { color: $text-primary; }
    & > .transcript--code-string { color: $text-success; }
    & > .transcript--code-number { color: $text-warning; }
    & > .transcript--code-name { color: $text-accent; }
    & > .transcript--match { background: $warning 35%; }
    & > .transcript--match-current { background: $warning; color: auto 95%; text-style: bold; }
    & > .transcript--evidence { background: $primary 40%; }
    & > .transcript--cursor { background: $foreground 10%; }
}
"""
STYLE_NAMES = tuple(re.findall(r"\.transcript--([\w-]+)", CSS))
"""The styles that lines are painted in."""
