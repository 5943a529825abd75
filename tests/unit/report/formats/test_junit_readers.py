"""The JUnit file as GitLab, Jenkins and pytest's schema read it.

None of the three can run here, so each is a small reader of our own that keeps the rules which
their public sources state: GitLab's `Gitlab::Ci::Parsers::Test::Junit` and `Reports::TestSuite`,
Jenkins' `SuiteResult` and `CaseResult`, and the schema `junit-10.xsd` that Jenkins' xUnit plugin
and pytest's own tests share.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bioeval_tui.report.gate import GateRules
from tests.documents import gate_of
from tests.unit.report.recorded import Recorded, Talk

HOSTILE = (
    "]]><failure/>&lt;!ENTITY x '\"\x00\x1b[2J\ud800\ufffe\u202e"
    " \U0001f600\r\n[[ATTACHMENT|../../etc/passwd]] <b>"
)
AWAY = Talk(reason="evaluator_failed", fault="infrastructure", tasks=None)


def hostile_runs() -> list[Recorded]:
    """Two runs of one job and model, a third of another model: passed, failing, not measured,
    skipped, twins.
    """
    job = {
        "aspirationalAverage": 1000.0,
        "tasks": [{"task": HOSTILE}, {"task": "twin"}, {"task": "twin"}, {"task": "twin (2)"}],
        "assertions": [
            {"cypher": "MATCH (n)\nRETURN count(n)", "weight": 1.0},
            {"expression": HOSTILE * 200, "weight": 1.0},
            {"expression": "true", "weight": 1.0},
        ],
        "facts": [],
    }
    talks = [
        Talk(tasks=(0.9, 0.2, 0.9, 0.1), holds=(True, False, None), latencies_ms=(1500.0,)),
        AWAY,
        Talk(tasks=None, holds=(True, False, True)),
        Talk(reason="cancelled"),
        Talk(tasks=(0.9, 0.2, 0.9, 0.1), holds=(True, False, True)),
    ]
    return [
        Recorded(
            talks,
            talks[:1],
            job=f"job {HOSTILE}",
            run_id=run_id,
            trials=6,
            started={"job": job, "model": model},
        )
        for run_id, model in (
            ("20260102-a", "one-1.5"),
            ("20260102-b", "one-1.5"),
            ("20260102-c", "two"),
        )
    ]


@pytest.fixture(scope="module")
def document() -> str:
    rules = GateRules.parse(["0.9"], fail_on_assertion=True, min_pass_k=["2:0.9"])
    text = gate_of("junit", [run.loaded() for run in hostile_runs()], rules)
    return text.encode("utf-8").decode("utf-8")  # what stands in the file can be encoded


def written(document: str) -> list[tuple[str, ET.Element]]:
    """Return each case with the name of its suite, in order."""
    return [
        (suite.attrib["name"], case)
        for suite in ET.fromstring(document)
        for case in suite.iter("testcase")
    ]


def to_hash(element: ET.Element) -> Any:
    """Convert as ActiveSupport does: attributes and children are keys alike, and a text hides the
    attributes.
    """
    found: dict[str, Any] = {}
    for child in element:
        found.setdefault(child.tag.replace("-", "_"), []).append(to_hash(child))
    found = {key: values[0] if len(values) == 1 else values for key, values in found.items()}
    found |= {key.replace("-", "_"): value for key, value in element.attrib.items()}
    text = "".join([element.text or "", *(child.tail or "" for child in element)])
    if found.get("type") in ("yaml", "symbol"):
        raise ValueError(f"disallowed type {found['type']}")
    if text.strip():
        assert found.get("type") not in (
            "file",
            "integer",
            "array",
            "boolean",
            "datetime",
        ), "would be converted"
        return text
    return found or None


@dataclass
class GitLab:
    """What GitLab keeps: by status and key one case; `attachments` are files that it would link
    to.
    """

    cases: dict[str, dict[tuple[str, str, str], dict[str, Any]]] = field(default_factory=dict)
    attachments: list[str] = field(default_factory=list)

    def read(self, text: str) -> GitLab:
        root = ET.fromstring(text)
        self._walk({root.tag: to_hash(root)}, top=True)
        return self

    def _walk(self, node: Any, top: bool = False) -> None:
        for one in node if isinstance(node, list) else [node]:
            if not isinstance(one, dict):
                continue
            if top:
                self._walk(one.get("testsuites"))
            else:
                cases = one.get("testcase") or []
                for case in cases if isinstance(cases, list) else [cases]:
                    self._add(case, str(one.get("name")))
            self._walk(one.get("testsuite"))

    def _add(self, case: dict[str, Any], suite: str) -> None:
        status = next((name for name in ("failure", "error", "skipped") if name in case), "passed")
        out = case.get("system_out")
        if (
            status in ("failure", "error")
            and out
            and (at := re.search(r"\[\[ATTACHMENT\|([^\[\]|]+?)\]\]", out))
        ):
            self.attachments.append(at.group(1))
        key = (suite, case["classname"], case["name"])
        self.cases.setdefault(status, {})[key] = {
            "says": case.get(status),
            "time": float(case["time"]),
        }


def test_gitlab_shows_every_case_with_its_reason(document: str) -> None:
    found = GitLab().read(document)
    kinds = Counter(next((child.tag for child in case), "passed") for _, case in written(document))
    assert set(kinds) == {"passed", "failure", "error", "skipped"}
    assert {status: len(cases) for status, cases in found.cases.items()} == kinds, (
        "some were called the same"
    )
    keys = [key for cases in found.cases.values() for key in cases]
    assert len(set(keys)) == len(keys)
    for status in ("failure", "error", "skipped"):
        assert all(isinstance(case["says"], str) for case in found.cases[status].values())
    assert found.attachments == []
    assert len(document.encode()) < 30 * 2**20


@pytest.mark.parametrize("root", ["testsuite", "testsuites"])
def test_our_model_of_gitlabs_reader_passes_gitlabs_own_tests(root: str) -> None:
    inner = (
        "<testcase classname='Calculator' name='a' time='0.01'><failure>why</failure>"
        "<system-out>[[ATTACHMENT|some/path.png]]</system-out></testcase>"
        "<testcase classname='Calculator' name='b' time='0.02'><skipped/></testcase>"
        "<testcase classname='Calculator' name='b' time='0.02'><skipped/></testcase>"
    )
    suite = f"<testsuite name='Math'>{inner}</testsuite>"
    text = (
        suite
        if root == "testsuite"
        else f"<testsuites><testsuite name='outer'>{suite}</testsuite></testsuites>"
    )
    found = GitLab().read(text)
    assert found.cases == {
        "failure": {("Math", "Calculator", "a"): {"says": "why", "time": 0.01}},
        "skipped": {("Math", "Calculator", "b"): {"says": None, "time": 0.02}},
    }
    assert found.attachments == ["some/path.png"]


def jenkins(document: str) -> list[tuple[str, str, str, str, str | None]]:
    """Return package, class, name, status and what the page of the case says."""
    found = []
    for suite in ET.fromstring(document).iter("testsuite"):
        for case in suite.findall("testcase"):
            package, _, name = case.attrib.get("classname", suite.attrib["name"]).rpartition(".")
            skipped, failed = case.find("skipped"), case.find("error")
            failed = case.find("failure") if failed is None else failed
            if skipped is not None:
                status, words = "skipped", skipped.attrib.get("message")
            elif failed is not None:
                status, words = "failed", failed.attrib.get("message")
            else:
                status, words = "passed", None
            found.append((package or "(root)", name, case.attrib["name"], status, words))
    return found


def test_jenkins_distinguishes_the_cases_without_the_suite(document: str) -> None:
    found = jenkins(document)
    assert len({case[:3] for case in found}) == len(found)
    assert {case[3] for case in found} == {"passed", "failed", "skipped"}
    assert all(words for *_, status, words in found if status != "passed")
    assert {
        package.endswith((".withheld", ".supplied")) or name == "gate"
        for package, name, *_ in found
    } == {True}
    gate = [name for _, group, name, *_ in found if group == "gate"]
    assert {
        model for model in ("one-1.5", "two") if any(f"· {model}" in name for name in gate)
    } == {
        "one-1.5",
        "two",
    }
    assert all("\n" not in part for case in found for part in case[:3])


SECONDS = r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?"
REASON: tuple[set[str], set[str], set[str]] = ({"type", "message"}, set(), set())
SCHEMA: dict[str, tuple[set[str], set[str], set[str]]] = {
    # element: (attributes that it may have, those of them that it must have, children)
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, set(), {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp", "hostname",
            "id", "package",
         "file", "log", "url"},
        {"name", "tests", "failures", "errors"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, {"name", "value"}, set()),
    "testcase": (
        {"name", "time", "classname", "group"}, {"name"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": REASON, "error": REASON, "skipped": REASON,
}  # fmt: skip


def test_the_file_is_valid_by_the_schema_of_jenkins_and_pytest(document: str) -> None:
    for element in ET.fromstring(document).iter():
        may, must, children = SCHEMA[element.tag]
        assert must <= set(element.attrib) <= may, element.tag
        assert {child.tag for child in element} <= children
        if element.tag not in ("failure", "error", "skipped"):
            assert not (element.text or "").strip(), "text stands where only elements may"
        if element.tag.startswith("testsuite"):
            assert re.fullmatch(SECONDS, element.attrib["time"])
