"""Tokens → tree, by precedence climbing (a Pratt parser). Precedence is Kotlin's.

`?:` binds tighter than `in`, comparison and equality: `a ?: 0 == 5` is `(a ?: 0) == 5`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions.lexer import KEYWORDS_NOT_SUPPORTED, Token, tokens
from bioeval_tui.evaluate.assertions.expressions.limits import Limits
from bioeval_tui.evaluate.assertions.expressions.tree import (
    Argument,
    Binary,
    Call,
    Condition,
    Expression,
    Index,
    Lambda,
    Literal,
    Member,
    Name,
    Node,
    Pattern,
    Template,
    Unary,
)
from bioeval_tui.text import clean_line

_INFIX, _PREFIX = 8, 12
_PRECEDENCE = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "===", "!=="), 3),
    **dict.fromkeys(("<", ">", "<=", ">="), 4),
    **dict.fromkeys(("in", "!in"), 5),
    "?:": 6,
    **dict.fromkeys(("..", "..<"), 9),
    **dict.fromkeys(("+", "-"), 10),
    **dict.fromkeys(("*", "/", "%"), 11),
}
_MAY_START_A_LINE = frozenset(("&&", "||", "?:", ".", "?."))
_TYPED_CONSTRUCTORS = frozenset(
    [
        "listOf",
        "setOf",
        "mapOf",
        "emptyList",
        "emptySet",
        "emptyMap",
        "listOfNotNull",
        "mutableListOf",
        "mutableSetOf",
        "mutableMapOf",
    ]
)
INFIX_FUNCTIONS = frozenset(
    [
        "and",
        "or",
        "xor",
        "shl",
        "shr",
        "ushr",
        "to",
        "until",
        "downTo",
        "step",
        "zip",
        "union",
        "intersect",
        "subtract",
        "matches",
    ]
)
_WORDS = {"true": True, "false": False, "null": None}
_INSTEAD = {
    "===": "== compares values; === is not supported",
    "!==": "!= compares values; !== is not supported",
    "!is": "!is is not supported; compare a property instead",
    "::": "references with :: are not supported; write a lambda such as { it.name }",
    ";": "only one expression is possible; join conditions with &&",
    "=": "assignment is not supported; to compare, write ==",
    "&": "to join conditions, write &&",
    "|": "to join conditions, write ||",
    "@": "labels and annotations are not supported",
}


def parse_tree(text: str, limits: Limits | None = None) -> Expression:
    """Return the tree of `text`. Names are looked at later, by `checks.check`.

    Raises:
        ExpressionError: with the column of the first thing that cannot be read.
    """
    limits = limits or Limits()
    if len(text) > limits.text_length:
        raise ExpressionError(f"longer than {limits.text_length:,} characters", text[:200], 1)
    if not text.strip():
        raise ExpressionError("the expression is empty", text, 1)
    parser = _Parser(text, tokens(text), limits.depth, 0)
    root = parser.expression()
    parser.finish()
    return Expression(text, root)


class _Parser:
    def __init__(self, text: str, given: list[Token], depth_limit: int, depth: int) -> None:
        self.text = text
        self.given = given
        self.at = 0
        self.depth_limit = depth_limit
        self.depth = depth
        self.enclosed = False  # inside ( ) or [ ], where a new line means nothing

    @property
    def token(self) -> Token:
        return self.given[self.at]

    def symbol(self, *symbols: str) -> bool:
        token = self.token
        return token.kind == "symbol" and token.value in symbols

    def word(self, *words: str) -> bool:
        token = self.token
        return token.kind == "name" and not token.quoted and token.value in words

    def take(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.at += 1
        return token

    def expect(self, symbol: str, why: str) -> Token:
        if not self.symbol(symbol):
            if self.symbol(*_INSTEAD) or self.word(*KEYWORDS_NOT_SUPPORTED):
                self.unexpected()
            self.fail(f"expected {symbol} {why}")
        return self.take()

    def fail(self, message: str, token: Token | None = None) -> NoReturn:
        raise ExpressionError(message, self.text, (token or self.token).column)

    def unexpected(self) -> NoReturn:
        token = self.token
        if token.kind == "end":
            self.fail("the expression ends too early")
        if token.kind == "symbol" and token.value in _INSTEAD:
            self.fail(_INSTEAD[token.value])
        if token.kind == "name" and not token.quoted and token.value in KEYWORDS_NOT_SUPPORTED:
            self.fail(f"`{token.value}` is not supported")
        shown = clean_line(str(token.value), 40) if token.kind in ("symbol", "name") else "a value"
        self.fail(f"unexpected {shown}")

    def finish(self) -> None:
        token = self.token
        if token.kind == "end":
            return
        if token.first and token.kind == "symbol" and token.value not in _INSTEAD:
            self.fail(
                f"a new line ends the expression before {token.value}; "
                f"put {token.value} at the end of the line above, or use parentheses"
            )
        self.unexpected()

    def nested(self, parse: Callable[[], Node], *, enclosed: bool) -> Node:
        """Parse one level deeper, within the limit."""
        self.depth += 1
        if self.depth > self.depth_limit:
            self.fail(f"nested more than {self.depth_limit} deep")
        before, self.enclosed = self.enclosed, enclosed
        try:
            return parse()
        finally:
            self.depth -= 1
            self.enclosed = before

    def expression(self, least: int = 0) -> Node:
        left = self.nested(self.prefix, enclosed=self.enclosed)
        while (operator := self.operator()) is not None and operator[1] > least:
            word, precedence = operator
            token = self.take()
            right = self.nested(lambda: self.expression(precedence), enclosed=self.enclosed)  # noqa: B023
            left = (
                Call(token.column, left, word, (Argument(right),))
                if precedence == _INFIX
                else Binary(token.column, word, left, right)
            )
        return left

    def operator(self) -> tuple[str, int] | None:
        token = self.token
        if (
            token.first
            and not self.enclosed
            and (token.kind != "symbol" or token.value not in _MAY_START_A_LINE)
        ):
            return None
        if token.kind == "symbol":
            if token.value in ("===", "!==", "!is"):
                self.unexpected()
            precedence = _PRECEDENCE.get(token.value)
            return None if precedence is None else (token.value, precedence)
        if token.kind != "name":
            return None
        if token.value == "in" and not token.quoted:
            return "in", _PRECEDENCE["in"]
        return (token.value, _INFIX) if token.value in INFIX_FUNCTIONS else None

    def prefix(self) -> Node:
        token = self.token
        if not self.symbol("-", "+", "!", "!!"):
            return self.postfix()
        self.take()
        operand = self.nested(self.prefix, enclosed=self.enclosed)
        if token.value == "!!":  # two negations, which the lexer reads as one symbol
            return Unary(token.column, "!", Unary(token.column + 1, "!", operand))
        return Unary(token.column, token.value, operand)

    def postfix(self) -> Node:
        node = self.primary()
        links = 0
        while True:
            token = self.token
            continues = self.enclosed or not token.first
            if self.symbol(".", "?."):
                node = self.member(node)
            elif continues and self.symbol("["):
                self.take()
                place = self.nested(self.expression, enclosed=True)
                self.expect("]", "after the index")
                node = Index(token.column, node, place)
            elif continues and self.symbol("!!"):
                self.take()
                node = Unary(token.column, "!!", node)
            elif continues and self.symbol("("):
                self.fail("only functions can be called")
            else:
                return node
            links += 1
            if links > self.depth_limit:
                self.fail(f"more than {self.depth_limit} calls in a row", token)

    def member(self, target: Node) -> Node:
        safe = self.take().value == "?."
        token = self.take()
        if token.kind != "name":
            self.at -= token.kind != "end"
            self.fail("expected a name after the dot", token)
        if self.calls():
            return Call(token.column, target, token.value, self.arguments(), safe)
        return Member(token.column, target, token.value, safe)

    def calls(self) -> bool:
        return (self.enclosed or not self.token.first) and self.symbol("(", "{")

    def arguments(self) -> tuple[Argument, ...]:
        """Parse `(…)`, `(…) { … }` or `{ … }`."""
        given: list[Argument] = []
        if self.symbol("("):
            self.take()
            while not self.symbol(")"):
                given.append(self.argument())
                if not self.symbol(")"):
                    self.expect(",", "or ) after the argument")
            self.take()
        if self.symbol("{") and (self.enclosed or not self.token.first):
            given.append(Argument(self.nested(self.function, enclosed=False), trailing=True))
        return tuple(given)

    def argument(self) -> Argument:
        token = self.token
        after = self.given[min(self.at + 1, len(self.given) - 1)]
        if token.kind == "name" and after.kind == "symbol" and after.value == "=":
            self.at += 2
            return Argument(self.nested(self.expression, enclosed=True), name=token.value)
        return Argument(self.nested(self.expression, enclosed=True))

    def primary(self) -> Node:
        token = self.token
        if token.kind == "literal":
            return Literal(self.take().column, token.value)
        if token.kind == "template":
            return self.template()
        if self.symbol("("):
            self.take()
            inner = self.nested(self.expression, enclosed=True)
            self.expect(")", "to close the parenthesis")
            return inner
        if self.symbol("{"):
            return self.nested(self.function, enclosed=False)
        if self.symbol("["):
            self.fail("lists are written listOf(1, 2)")
        if self.word("if"):
            return self.condition()
        if token.kind != "name" or self.word("in", "else", *KEYWORDS_NOT_SUPPORTED):
            self.unexpected()
        self.take()
        if not token.quoted and token.value in _WORDS:
            return Literal(token.column, _WORDS[token.value])
        if token.value in _TYPED_CONSTRUCTORS and self.symbol("<"):
            self.type_arguments()
        if self.calls():
            return Call(token.column, None, token.value, self.arguments())
        return Name(token.column, token.value)

    def type_arguments(self) -> None:
        """Skip `<String, Int?>`: values carry their types."""
        start = self.take()
        open_brackets = 1
        while open_brackets:
            if not (self.token.kind == "name" or self.symbol("<", ">", ",", "?")):
                self.fail("this type argument is not closed with >", start)
            open_brackets += (self.token.value == "<") - (self.token.value == ">")
            self.take()

    def template(self) -> Node:
        token = self.take()
        parts: list[Node] = []
        for part in token.value:
            if isinstance(part, str):
                parts.append(Literal(token.column, part))
                continue
            inner = _Parser(self.text, part, self.depth_limit, self.depth + 1)
            if inner.token.kind == "end":
                inner.fail("this template is empty")
            parts.append(inner.expression())
            inner.finish()
        return Template(token.column, tuple(parts))

    def condition(self) -> Node:
        token = self.take()
        self.expect("(", "after if")
        condition = self.nested(self.expression, enclosed=True)
        self.expect(")", "after the condition")
        then = self.branch()
        if not self.word("else"):
            self.fail("`if` needs an `else` to have a value")
        self.take()
        return Condition(token.column, condition, then, self.branch())

    def branch(self) -> Node:
        if not self.symbol("{"):
            return self.nested(self.expression, enclosed=self.enclosed)
        self.take()
        inner = self.nested(self.expression, enclosed=False)
        self.close("the branch")
        return inner

    def function(self) -> Node:
        token = self.expect("{", "to open the lambda")
        parameters = self.parameters()
        if self.symbol("}"):
            self.fail("the lambda is empty")
        body = self.nested(self.expression, enclosed=False)
        self.close("the lambda")
        return Lambda(token.column, parameters, body)

    def close(self, what: str) -> None:
        if not self.symbol("}"):
            if self.token.kind != "end":
                self.finish()
            self.fail(f"expected }} to close {what}")
        self.take()

    def parameters(self) -> tuple[Pattern, ...]:
        """Parse `a, (b, c) ->` if it stands here; otherwise take nothing."""
        start = self.at
        found: list[Pattern] = []
        while True:
            if self.token.kind == "name":
                found.append(self.take().value)
            elif self.symbol("("):
                self.take()
                names = self.names()
                if not names:
                    break
                found.append(names)
            else:
                break
            if self.symbol(":"):
                self.fail("types of parameters are not needed and not supported")
            if self.symbol("->"):
                self.take()
                return tuple(found)
            if not self.symbol(","):
                break
            self.take()
        self.at = start
        return ()

    def names(self) -> tuple[str, ...]:
        names: list[str] = []
        while self.token.kind == "name":
            names.append(self.take().value)
            if self.symbol(")"):
                self.take()
                return tuple(names)
            if not self.symbol(","):
                break
            self.take()
        return ()
