"""Results of promptfoo, with the verdicts of its assertions."""

from bioeval_tui.protocols import ImportFormat

_READING = f"{__name__}.reading:"
reader = ImportFormat(
    "promptfoo",
    "promptfoo's results, .json and .jsonl",
    _READING + "fits",
    _READING + "read",
    place=10,
    shape=(
        '{"evalId": "…", "results": {"results": [{"prompt": {"raw"}, "vars", "response":'
        ' {"output"}, "gradingResult"}]}}'
    ),
)
