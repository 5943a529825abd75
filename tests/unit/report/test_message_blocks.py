"""Messages in documents: their Markdown is shown, and nothing in it acts."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from bioeval_tui.report.formats.markdown import message_lines
from bioeval_tui.report.messages import MessageBlock, message_blocks, plain
from bioeval_tui.report.result import Quotation
from tests.documents import document_of
from tests.unit.report.recorded import Recorded, Talk


class Shown(HTMLParser):
    """Collects what is between the tags of each message: the tags without attributes, and the
    text.
    """

    def __init__(self, document: str) -> None:
        super().__init__()
        self.shown = ""
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.shown += f"<{tag}>"

    def handle_endtag(self, tag: str) -> None:
        self.shown += f"</{tag}>"

    def handle_data(self, data: str) -> None:
        self.shown += html.escape(data, quote=False)


def shown(text: str) -> str:
    """Return the elements and text of the agent's message in a report."""
    document = document_of("html", Recorded([Talk(says=text)]).loaded())
    said = re.search(
        r'class="said assistant".*?<div class="text">(.*?)</div>\n</div></td>', document, re.DOTALL
    )
    assert said is not None
    return re.sub(r"(?<=>)\n|\n(?=<)", "", Shown(said[1]).shown)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Warfarin** and *ibuprofen* ~~never~~ `x<y`",
         "<p><strong>Warfarin</strong> and <em>ibuprofen</em> <s>never</s> "
         "<code>x&lt;y</code></p>"),
        ("one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"),
        ("# Dose", "<p>Dose</p>"),
        ("- a\n  - b", "<ul><li><p>a</p><ul><li><p>b</p></li></ul></li></ul>"),
        ("3. a\n4. b", "<ol><li><p>a</p></li><li><p>b</p></li></ol>"),
        ("> said\n\n---", "<blockquote><p>said</p></blockquote><hr>"),
        ("```json\n{\"a\": 1}\n```", "<p>json</p><pre><code>{\"a\": 1}</code></pre>"),
        ("| a | b |\n|---|---|\n| **1** |",
         "<div><table><tr><th>a</th><th>b</th></tr>"
         "<tr><td><strong>1</strong></td></tr></table></div>"),
        ("> |a|\n> |-|\n> |b|*c*| d|\n> |e|",
         "<blockquote><div><table><tr><th>a</th></tr><tr><td>b | *c* | d</td></tr>"
         "<tr><td>e</td></tr></table></div></blockquote>"),
        ("[leaflet](https://example.org/a \"see it\"), ![a scan](b.png)",
         "<p>leaflet (https://example.org/a see it), [image: a scan] (b.png)</p>"),
        ("[x](javascript:alert(4)) <https://example.org>",
            "<p>[x](javascript:alert(4)) https://example.org</p>"),
        ("&#x202e;&lt;b&gt;", "<p>⍰&lt;b&gt;</p>"),
        ("<script>a\x1b[2J</script>\u202e", "<p>&lt;script&gt;a␛&lt;/script&gt;⍰</p>"),
        ("[1]: https://example.org", "<p>[1]: https://example.org</p>"),
        ("an **unfinished", "<p>an **unfinished</p>"),
    ],
)  # fmt: skip
def test_a_report_shows_the_markdown_of_a_message(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_numbers_of_lists_and_the_alignment_of_columns_are_kept() -> None:
    document = document_of("html", Recorded([Talk(says="3. a\n\n|a|b|\n|-|-:|\n|c|d|")]).loaded())
    for element in ('<ol start="3">', '<td class="left">c</td>', '<td class="right">d</td>'):
        assert element in document


@pytest.mark.parametrize(
    "text",
    [
        "**Warfarin** and *ibuprofen*, `x|y` ~~never~~", "one\n- 2 **two\nlines**",
        "**A `b` c**\n\n---\n\n> said\n>\n> twice",
        "- a\n  - b\n\n    c\n  - d\n- ```\n  x ``` y\n  ```\n- 3. e\n  4. f",
        "1. a\n\n   2) b\n2. c", "``a ` b``",
        "| **a** | b |\n|:-:|--:|\n| `x\\|y` | \\| [c](https://d.example) |",
        "3 > 2 & #1 &lt;b&gt; a_b_c [x](javascript:y)",
    ],
)  # fmt: skip
def test_a_markdown_report_keeps_what_a_message_shows(text: str) -> None:
    first, *lines = message_lines("a:", text)
    shown = [
        first.removeprefix("a:").lstrip(),
        *(line.removeprefix(">").removeprefix(" ") for line in lines),
    ]
    assert message_blocks("\n".join(shown).replace("\\\n", "\n")) == message_blocks(text)


@pytest.mark.parametrize("end", ["\n", "\n\n", "  \n", "\n\n---\n", "\n- x\n\n"])
def test_no_message_looks_like_two_in_a_markdown_report(end: str) -> None:
    report = document_of(
        "md", Recorded([Talk(says=f"Hello{end}**user**: You are right.")]).loaded()
    )
    tokens = MarkdownIt("commonmark").parse(report)
    opened = [
        tokens[at + 1].content
        for at, token in enumerate(tokens)
        if token.type == "paragraph_open" and not token.level
    ]
    assert not [text for text in opened if "You are right" in text]


def evidence(blocks: tuple[MessageBlock, ...]) -> list[tuple[str, tuple[int, ...]]]:
    """Return the marked texts, in order."""
    texts = [text for block in blocks for text in block.texts if text.evidence]
    return [(text.text, text.evidence) for text in texts] + [
        found for block in blocks for found in evidence(block.blocks)
    ]


@pytest.mark.parametrize(
    ("text", "quoted", "marked"),
    [
        ("**Warfarin (major)**: avoid it", "**Warfarin (major)**: avoid",
            "Warfarin (major): avoid"),
        ("**Warfarin (major)**: avoid it", "(major)**: avoid", "(major): avoid"),
        ("- take *one*\n- tablet", "take *one*\n- tablet", "take one tablet"),
        ("see [the leaflet](https://a.example) now", "see [the leaflet](https://a.example)",
            "see the leaflet (https://a.example)"),
        ("a &amp; b", "&amp; b", "& b"),
        ("Take  it\nNOW", "take it now", "Take  it NOW"),
        ("`x`", "not said", ""),
        ("`x`", "**", ""),
    ],
)  # fmt: skip
def test_a_quotation_is_marked_where_it_is_shown(text: str, quoted: str, marked: str) -> None:
    found = evidence(message_blocks(text, [Quotation(quoted, 2)]))
    assert "".join("".join(text for text, _ in found).split()) == "".join(marked.split())
    assert {tasks for _, tasks in found} == ({(2,)} if marked else set())


def test_overlapping_quotations_name_each_task() -> None:
    blocks = message_blocks(
        "take **one** tablet", [Quotation("take **one**", 1), Quotation("one** tablet", 2)]
    )
    assert evidence(blocks) == [("take ", (1,)), ("one", (1, 2)), (" tablet", (2,))]


@pytest.mark.parametrize(
    "deep",
    [">" * 40 + " ", "".join("  " * n + "- \n" for n in range(20)), "- " * 40, "**a " * 9000],
)
def test_deeply_nested_text_is_shown_whole(deep: str) -> None:
    assert plain(f"before\n\n{deep}the dose").endswith("the dose")


@pytest.mark.parametrize(
    "text",
    [
        "*" * 9_999,
        "> " * 5_000,
        "**a " * 2_500,
        "|a" * 50 + "|\n" + "|-" * 50 + "|\n" + "|b\n" * 300,
    ],
)
def test_a_message_makes_a_report_at_most_a_few_times_its_length(text: str) -> None:
    assert len(document_of("html", Recorded([Talk(says=text)]).loaded())) < 8 * len(text) + 30_000


def test_of_a_very_long_message_the_beginning_is_markdown_and_nothing_is_lost() -> None:
    lines = [f"**dose {number}** [x](y)" for number in range(1, 1001)]
    found = shown("\n".join(lines))
    assert "<strong>dose 1</strong>" in found
    assert found.endswith("**dose 1000** [x](y)</p>")
    assert [int(number) for number in re.findall(r"dose (\d+)", found)] == list(range(1, 1001))


def test_a_message_of_brackets_is_shown_as_it_was_written() -> None:
    brackets = "[" * 1001
    assert shown(brackets + "**x**") == f"<p>{brackets}**x**</p>"
