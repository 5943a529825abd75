"""A template in a job can neither block the program nor take its memory, keys or files."""

from __future__ import annotations

import asyncio

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.jobs import rendering
from bioeval_tui.jobs.rendering import Templates
from bioeval_tui.peers.models.prompting import (
    Prompt,
    evaluator_context,
    find_prompt,
    render_prompt,
)
from tests.rendered import evaluator_prompt
from tests.unit.peers.models.test_prompting import evaluator_view

ENDLESS = {
    "loops in loops": (
        "{% set many = range(300) | list %}" + "{% for x in many %}" * 6 + "{% endfor %}" * 6
    ),
    "macros that call themselves": (
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}"
    ),
    "slices": "{{ range(1000) | slice(99999999) | list | length }}",
    "batches": "{{ [1] | batch(999999999, 'x') | list | length }}",
    "JSON indented": "{{ range(1000) | list | tojson(99999999) }}",
    "texts that double": (
        "{% set ns = namespace(t='xxxxxxxxxx') %}{% for i in range(60) %}{% set ns.t = ns.t ~ ns.t"
        " %}{% endfor %}{{ ns.t }}"
    ),
    "replaced texts": (
        "{% set a = config.target.user ~ 'xxxxxxxxxxxxxxxxxxxx' %}"
        + "{% set a = a | replace('x', a) %}" * 8
        + "{{ a }}"
    ),
    "a regular expression": "{{ ('a.' | list | join(range(100000) | join('a.'))) | urlize }}" * 50,
    "words": "{{ (range(90000) | join(' ')) | wordwrap(1) | length }}" * 200,
}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "CPU_S", 1)
    monkeypatch.setattr(rendering, "WALL_S", 60.0)


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.long
async def test_an_endless_template_is_stopped_and_the_next_one_rendered(
    text: str, short: None
) -> None:
    templates = Templates()
    context = evaluator_context(evaluator_view())
    try:
        with pytest.raises(UsageError, match="prompt `p`"):
            await templates.render("p", text, context)
        assert await templates.render("p", "Dear {{ config.target.user }}", context) == "Dear Ann"
    finally:
        await templates.aclose()


async def test_rendering_a_template_can_be_cancelled() -> None:
    templates = Templates()
    context = evaluator_context(evaluator_view())
    assert await templates.render("p", "{{ 1 + 1 }}", context) == "2"
    process = templates._confined.process
    assert process is not None
    waiting = asyncio.create_task(templates.render("p", ENDLESS["loops in loops"], context))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert process.returncode is not None
    assert await templates.render("p", "{{ 1 + 1 }}", context) == "2"
    await templates.aclose()


async def test_a_template_renders_the_same_in_its_own_process() -> None:
    templates = Templates()
    packaged = find_prompt("eval/socrates", None)
    view = evaluator_view("supplied")
    elsewhere = await render_prompt(
        Prompt("mine", packaged.text, "job"), evaluator_context(view), templates
    )
    await templates.aclose()
    assert elsewhere == evaluator_prompt(packaged, view)
    assert await templates.render("p", "{{ '<b>a</b> b' | striptags }}", {}) == "a b", (
        "its module is there"
    )
    with pytest.raises(UsageError, match="'nope' is undefined"):
        await templates.render("p", "{{ nope }}", {})
    await templates.aclose()


async def test_included_prompts_are_rendered_without_a_process() -> None:
    templates = Templates()
    await render_prompt(
        find_prompt("eval/socrates", None), evaluator_context(evaluator_view()), templates
    )
    assert templates._confined.process is None
