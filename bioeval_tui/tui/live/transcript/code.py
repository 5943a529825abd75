"""Code coloured by its tokens, in the colours of the theme."""

from __future__ import annotations

from functools import lru_cache
from threading import Event, Thread

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType
from pygments.util import ClassNotFound
from rich.text import Text

_STYLES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "code.comment"),
    (Keyword, "code.keyword"),
    (String, "code.string"),
    (Number, "code.number"),
    (Name.Function, "code.name"),
    (Name.Class, "code.name"),
    (Name.Tag, "code.keyword"),
    (Name.Attribute, "code.name"),
    (Name.Builtin, "code.keyword"),
    (Operator.Word, "code.keyword"),
)


def coloured(code: str, language: str) -> Text:
    """Return `code` as literal text with its tokens coloured; plain when the language is not known."""
    text = Text(style="code", overflow="fold")
    lexer = _lexer(language.lower()) if language else None
    if lexer is None:
        return text.append(code)
    for kind, value in lexer.get_tokens(code):
        text.append(value, _style(kind))
    text.rstrip()
    return text


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=256)
def _style(kind: _TokenType) -> str | None:
    return next((style for family, style in _STYLES if kind in family), None)


def warm_up() -> None:
    """Load the lexers that answers use most, which takes Pygments a tenth of a second, in the background."""
    if not _warm.is_set():
        _warm.set()
        Thread(target=lambda: [coloured("x", name) for name in _COMMON], name="lexers", daemon=True).start()


_COMMON = ("json", "python", "sql", "bash", "yaml")
_warm = Event()
