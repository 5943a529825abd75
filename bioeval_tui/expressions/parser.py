"""Tokens → tree, by precedence climbing (a Pratt parser). Precedence is Kotlin's.

`?:` binds tighter than `in`, comparison and equality: `a ?: 0 == 5` is `(a ?: 0) == 5`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.base.text import clean_line, shorten
from bioeval_tui.expressions import tree
from bioeval_tui.expressions.kotlin_types import CLASSES, UNKNOWN, Type
from bioeval_tui.expressions.lexer import KEYWORDS_NOT_SUPPORTED, RESERVED, Token, tokens
from bioeval_tui.expressions.signatures import nearest
from bioeval_tui.expressions.values import UNIT, Limits

_INFIX = 8
_PRECEDENCE = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "===", "!=="), 3),
    **dict.fromkeys(("<", ">", "<=", ">="), 4),
    **dict.fromkeys(("in", "!in", "is", "!is"), 5),
    "?:": 6,
    **dict.fromkeys(("..", "..<"), 9),
    **dict.fromkeys(("+", "-"), 10),
    **dict.fromkeys(("*", "/", "%"), 11),
    "as": 12,
}
_MAY_START_A_LINE = frozenset(("&&", "||", "?:", ".", "?.", "as"))
INFIX_FUNCTIONS = frozenset(
    (
        *("and", "or", "xor", "shl", "shr", "ushr", "to", "until", "downTo", "step", "zip"),
        *("union", "intersect", "subtract", "matches"),
    )
)
_WORDS = {"true": True, "false": False, "null": None}
_PACKAGES = frozenset(
    ("kotlin", "math", "text", "collections", "comparisons", "ranges", "sequences")
)
_SAME_TYPE = {
    **dict.fromkeys(("MutableList", "ArrayList"), "List"),
    **dict.fromkeys(("MutableSet", "LinkedHashSet", "HashSet"), "Set"),
    **dict.fromkeys(("MutableMap", "LinkedHashMap", "HashMap"), "Map"),
    "MutableCollection": "Collection",
    "Map.Entry": "Entry",
}
_INSTEAD = {
    "=": "assignment is not supported; to compare, write ==",
    "&": "to join conditions, write &&",
    "|": "to join conditions, write ||",
    "@": "labels and annotations are not supported",
    "::": (
        "`::` refers to a function of a type, such as String::length; for a class, test it with"
        " `is`"
    ),
}


def parse_tree(text: str, limits: Limits | None) -> tree.Expression:
    """Return the tree of `text`. Names and types are checked later, by `checks.check`.

    Raises:
        ExpressionError: with the column of the first thing that cannot be read.
    """
    limits = limits or Limits()
    if len(text) > limits.text_length:
        raise ExpressionError(f"longer than {limits.text_length:,} characters", text[:200], 1)
    if not text.strip():
        raise ExpressionError("the expression is empty", text, 1)
    parser = _Parser(text, tokens(text), limits.depth, 0)
    root = parser.block("end")
    parser.finish()
    if isinstance(root, tree.Literal) and root.value is UNIT:
        raise ExpressionError("the expression is empty", text, 1)
    return tree.Expression(text, root)


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

    @property
    def continues(self) -> bool:
        """Whether the token may belong to the expression before it, which otherwise ends with its
        line: a line that begins with ( or { is an expression of its own.
        """
        return self.enclosed or not self.token.first

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

    def accept(self, *symbols: str) -> bool:
        """Take the next token if it is one of these symbols; return whether it is."""
        accepted = self.symbol(*symbols)
        self.at += accepted
        return accepted

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
        if self.word(*KEYWORDS_NOT_SUPPORTED):
            self.fail(KEYWORDS_NOT_SUPPORTED[token.value])
        if token.kind in ("symbol", "name"):
            self.fail(f"unexpected {clean_line(str(token.value), 40)}")
        self.fail("unexpected a value")

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

    def nested(self, parse: Callable[[], tree.Node], *, enclosed: bool) -> tree.Node:
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

    def block(self, end: str) -> tree.Node:
        """Parse `val` declarations and expressions up to `end`; the last one is the value."""
        start = self.token.column
        statements: list[tuple[tree.Pattern | None, Type | None, tree.Node]] = []
        while True:
            while self.accept(";"):
                pass
            if self.token.kind == "end" or self.symbol(end):
                break
            if statements and not (self.token.first or self.given[self.at - 1].value == ";"):
                self.finish()
            statements.append(self.statement())
        if not statements:
            return tree.Literal(start, UNIT)
        pattern, _, last = statements[-1]
        if pattern is not None:
            self.fail("after the last `val` an expression must follow, which is the value")
        if len(statements) == 1:
            return last
        return tree.Declarations(start, tuple(statements[:-1]), last)

    def statement(self) -> tuple[tree.Pattern | None, Type | None, tree.Node]:
        if not self.word("val"):
            return None, None, self.expression()
        self.take()
        pattern, kind = self.pattern()
        if pattern is None:
            self.fail("expected a name after val")
        self.expect("=", "after the name")
        return pattern, kind, self.expression()

    def pattern(self) -> tuple[tree.Pattern | None, Type | None]:
        """Parse a name or `(a, b)`, and the type if one is written."""
        if self.accept("("):
            names = self.names()
            return names or None, None
        if self.token.kind != "name" or self.word(*RESERVED):
            return None, None
        name = self.take().value
        if self.accept(":"):
            return name, self.type()
        return name, None

    def names(self) -> tuple[str, ...]:
        names: list[str] = []
        while self.token.kind == "name":
            names.append(self.take().value)
            if self.symbol(")"):
                self.take()
                return tuple(names)
            if not self.accept(","):
                break
        return ()

    def expression(self, least: int = 0) -> tree.Node:
        left = self.nested(self.prefix, enclosed=self.enclosed)
        while (operator := self.operator()) is not None and operator[1] > least:
            left = self.combine(left, *operator)
        return left

    def combine(self, left: tree.Node, word: str, precedence: int) -> tree.Node:
        token = self.take()
        if word in ("is", "!is", "as"):
            if word == "as" and self.symbol("?"):
                self.take()
                word = "as?"
            return tree.TypeOperation(token.column, word, left, self.type())
        right = self.nested(lambda: self.expression(precedence), enclosed=self.enclosed)
        if precedence == _INFIX:
            return tree.Call(token.column, left, word, (tree.Argument(right),))
        return tree.Binary(token.column, word, left, right)

    def operator(self) -> tuple[str, int] | None:
        token = self.token
        if token.kind not in ("symbol", "name"):
            return None
        if not self.continues and token.value not in _MAY_START_A_LINE:
            return None
        if token.kind == "symbol":
            precedence = _PRECEDENCE.get(token.value)
            if precedence is None:
                return None
            return (token.value, precedence)
        if token.quoted:
            return None
        if token.value in ("in", "is", "as"):
            return token.value, _PRECEDENCE[token.value]
        if token.value in INFIX_FUNCTIONS:
            return (token.value, _INFIX)
        return None

    def prefix(self) -> tree.Node:
        token = self.token
        if not self.symbol("-", "+", "!", "!!"):
            return self.postfix()
        self.take()
        operand = self.nested(self.prefix, enclosed=self.enclosed)
        if token.value == "!!":  # two negations, which the lexer reads as one symbol
            return tree.Unary(token.column, "!", tree.Unary(token.column + 1, "!", operand))
        return tree.Unary(token.column, token.value, operand)

    def postfix(self) -> tree.Node:
        node = self.primary()
        links = 0
        while True:
            token = self.token
            continues = self.continues
            if self.symbol(".", "?."):
                node = self.member(node)
            elif continues and self.symbol("["):
                self.take()
                place = self.nested(self.expression, enclosed=True)
                self.expect("]", "after the index")
                node = tree.Index(token.column, node, place)
            elif continues and self.symbol("!!"):
                self.take()
                node = tree.Unary(token.column, "!!", node)
            elif continues and self.symbol("("):
                self.fail("only functions can be called")
            else:
                return node
            links += 1
            if links > self.depth_limit:
                self.fail(f"more than {self.depth_limit} calls in a row", token)

    def member(self, target: tree.Node) -> tree.Node:
        safe = self.take().value == "?."
        token = self.take()
        if token.kind != "name":
            self.at -= token.kind != "end"
            self.fail("expected a name after the dot", token)
        types = self.type_arguments()
        if self.calls():
            return tree.Call(token.column, target, token.value, self.arguments(), safe, types)
        return tree.Member(token.column, target, token.value, safe)

    def calls(self) -> bool:
        return self.is_labelled() or (self.continues and self.symbol("(", "{"))

    def arguments(self) -> tuple[tree.Argument, ...]:
        """Parse `(…)`, `(…) { … }` or `{ … }`."""
        given: list[tree.Argument] = []
        if self.accept("("):
            while not self.symbol(")"):
                given.append(self.argument())
                if not self.symbol(")"):
                    self.expect(",", "or ) after the argument")
            self.expect(")", "after the arguments")
        has_function = self.is_labelled() or (self.continues and self.symbol("{"))
        if has_function:
            given.append(tree.Argument(self.nested(self.function, enclosed=False), trailing=True))
        return tuple(given)

    def is_labelled(self) -> bool:
        """Return whether `label@{ … }` comes next."""
        following = [token.value for token in self.given[self.at + 1 : self.at + 3]]
        return self.token.kind == "name" and not self.token.first and following == ["@", "{"]

    def argument(self) -> tree.Argument:
        token = self.token
        after = self.given[min(self.at + 1, len(self.given) - 1)]
        if token.kind == "name" and after.kind == "symbol" and after.value == "=":
            self.at += 2
            return tree.Argument(self.nested(self.expression, enclosed=True), name=token.value)
        return tree.Argument(self.nested(self.expression, enclosed=True))

    def primary(self) -> tree.Node:
        token = self.token
        if token.kind == "literal":
            return tree.Literal(self.take().column, token.value)
        if token.kind == "template":
            return self.template()
        if self.accept("("):
            inner = self.nested(self.expression, enclosed=True)
            self.expect(")", "to close the parenthesis")
            return inner
        if self.symbol("{"):
            return self.nested(self.function, enclosed=False)
        if self.symbol("["):
            self.fail("lists are written listOf(1, 2)")
        if self.accept("::"):
            return self.reference(token, "")
        for word, parse in (("if", self.condition), ("when", self.when), ("return", self.returned)):
            if self.word(word):
                return parse()
        if token.kind != "name" or self.word(*RESERVED):
            self.unexpected()
        return self.named()

    def named(self) -> tree.Node:
        """Parse what begins with a name: a name, a call, `Type::member`; packages are skipped."""
        token = self.take()
        if not token.quoted and token.value in _WORDS:
            return tree.Literal(token.column, _WORDS[token.value])
        if token.value in ("java", "javax") and self.symbol("."):
            self.fail(
                "the classes of Java are not available; compare texts, numbers and lists", token
            )
        if token.value in ("kotlin", "Math") and self.symbol("."):
            self.take()
            while self.word(*_PACKAGES):
                self.take()
                self.expect(".", "after the package")
            if self.token.kind != "name":
                self.unexpected()
            token = self.take()
            if self.given[self.at - 3].value == "Math" and token.value == "round":
                self.fail("write x.roundToLong(), or x.roundToInt() for an Int", token)
        if (
            token.value == "String"
            and self.symbol(".")
            and self.given[self.at + 1].value == "format"
        ):
            self.at += 2
            template, *rest = self.arguments() or [tree.Argument(tree.Literal(token.column, ""))]
            return tree.Call(token.column, template.value, "format", tuple(rest))
        if self.accept("::"):
            return self.reference(token, token.value)
        types = self.type_arguments()
        if self.calls():
            return tree.Call(token.column, None, token.value, self.arguments(), False, types)
        return tree.Name(token.column, token.value)

    def reference(self, token: Token, owner: str) -> tree.Node:
        if self.token.kind != "name" or self.word(*RESERVED):
            self.fail(_INSTEAD["::"], token)
        return tree.Reference(token.column, owner, self.take().value)

    def type_arguments(self) -> tuple[Type, ...]:
        """Parse `<String, Int?>` if it comes next, before the arguments of a call; otherwise
        consume nothing.
        """
        if not self.symbol("<"):
            return ()
        start = self.at
        try:
            arguments = self.types()
        except ExpressionError:
            arguments = ()
        if arguments and self.calls():
            return arguments
        self.at = start
        return ()

    def types(self) -> tuple[Type, ...]:
        self.take()
        types = []
        while not self.symbol(">"):
            if self.word("in", "out"):
                self.take()
            types.append(self.type())
            if not self.symbol(">"):
                self.expect(",", "or > after the type")
        self.take()
        return tuple(types)

    def type(self) -> Type:
        """Parse a type, such as `Map<String, *>?`."""
        token = self.take()
        if token.kind == "symbol" and token.value == "*":
            return UNKNOWN
        if token.kind != "name":
            self.fail("expected a type here", token)
        name = token.value
        if name == "Map" and self.symbol(".") and self.given[self.at + 1].value == "Entry":
            self.at += 2
            name = "Map.Entry"
        name = _SAME_TYPE.get(name, name)
        if name not in CLASSES:
            self.fail(f"unknown type {shorten(name, 40)}{nearest(name, CLASSES.names())}", token)
        args = self.nested_types() if self.symbol("<") else ()
        if len(args) not in (0, CLASSES.parameters(name)):
            self.fail(f"{name} has {CLASSES.parameters(name)} type arguments", token)
        nullable = self.symbol("?")
        while self.symbol("?"):
            self.take()
        return Type(name, args or (UNKNOWN,) * CLASSES.parameters(name), nullable)

    def nested_types(self) -> tuple[Type, ...]:
        self.depth += 1
        if self.depth > self.depth_limit:
            self.fail(f"nested more than {self.depth_limit} deep")
        types = self.types()
        self.depth -= 1
        return types

    def template(self) -> tree.Node:
        token = self.take()
        parts: list[tree.Node] = []
        for part in token.value:
            if isinstance(part, str):
                parts.append(tree.Literal(token.column, part))
                continue
            inner = _Parser(self.text, part, self.depth_limit, self.depth + 1)
            if inner.token.kind == "end":
                inner.fail("this template is empty")
            parts.append(inner.expression())
            inner.finish()
        return tree.Template(token.column, tuple(parts))

    def condition(self) -> tree.Node:
        token = self.take()
        self.expect("(", "after if")
        condition = self.nested(self.expression, enclosed=True)
        self.expect(")", "after the condition")
        then = self.branch()
        before = self.at
        while self.accept(";"):
            pass
        if not self.word("else"):
            self.at = before
            return tree.If(token.column, condition, then, tree.Literal(token.column, UNIT))
        self.take()
        return tree.If(token.column, condition, then, self.branch())

    def branch(self) -> tree.Node:
        if not self.symbol("{"):
            return self.nested(self.expression, enclosed=self.enclosed)
        self.take()
        start = self.token.column
        inner = self.nested(lambda: self.block("}"), enclosed=False)
        self.close("the branch")
        if isinstance(inner, tree.Declarations):
            return inner
        return tree.Declarations(start, (), inner)

    def when(self) -> tree.Node:
        token = self.take()
        subject: tree.Node | None = None
        name = ""
        if self.accept("("):
            if self.word("val"):
                self.take()
                if self.token.kind != "name":
                    self.fail("expected a name after val")
                name = self.take().value
                self.expect("=", "after the name")
            subject = self.nested(self.expression, enclosed=True)
            self.expect(")", "after the subject")
        self.expect("{", "to open the branches")
        branches: list[tree.Branch] = []
        before, self.enclosed = self.enclosed, False
        while not self.symbol("}"):
            conditions = self.conditions(subject is not None)
            self.expect("->", "after the condition")
            branches.append(tree.Branch(conditions, self.branch()))
            while self.accept(";"):
                pass
        self.enclosed = before
        self.take()
        return tree.When(token.column, subject, name, tuple(branches))

    def conditions(self, has_subject: bool) -> tuple[tree.Node, ...]:
        """Parse the part before `->`: nothing for `else`, otherwise the alternative tests."""
        if self.word("else"):
            self.take()
            return ()
        conditions = []
        while True:
            if has_subject:
                conditions.append(self.test())
            else:
                conditions.append(self.nested(self.expression, enclosed=False))
            if not self.accept(","):
                return tuple(conditions)

    def test(self) -> tree.Node:
        """Parse `5`, `in 1..3` or `is String`, tested on the subject."""
        token = self.token
        subject = tree.Name(token.column, tree.SUBJECT)
        if self.word("in", "is") or self.symbol("!in", "!is"):
            return self.combine(subject, token.value, _PRECEDENCE["in"])
        return tree.Binary(
            token.column, "==", subject, self.nested(self.expression, enclosed=False)
        )

    def returned(self) -> tree.Node:
        token = self.take()
        if not self.symbol("@"):
            self.fail(
                "a lambda's last expression is its value; `return` needs a label, such as"
                " return@any",
                token,
            )
        self.take()
        label = self.take()
        if label.kind != "name":
            self.fail("expected the name of the function whose lambda ends here", label)
        value = self.nested(self.expression, enclosed=self.enclosed)
        return tree.Return(token.column, label.value, value)

    def function(self) -> tree.Node:
        label = ""
        if self.is_labelled():
            label = self.take().value
            self.take()
        token = self.expect("{", "to open the lambda")
        parameters, types = self.parameters()
        body = self.block("}")
        self.close("the lambda")
        return tree.Lambda(token.column, parameters, body, types, label)

    def close(self, what: str) -> None:
        if not self.symbol("}"):
            if self.token.kind != "end":
                self.finish()
            self.fail(f"expected }} to close {what}")
        self.take()

    def parameters(self) -> tuple[tuple[tree.Pattern, ...], tuple[Type | None, ...]]:
        """Parse `a, (b, c) ->` if it comes next; otherwise consume nothing."""
        start = self.at
        patterns: list[tree.Pattern] = []
        types: list[Type | None] = []
        while True:
            pattern, kind = self.pattern()
            if pattern is None:
                break
            patterns.append(pattern)
            types.append(kind)
            if self.accept("->"):
                return tuple(patterns), tuple(types)
            if not self.accept(","):
                break
        self.at = start
        return (), ()
