"""Conversations as ShareGPT has them, and many data sets since."""

from bioeval_tui.protocols import ImportFormat

_READING = f"{__name__}.reading:"
reader = ImportFormat(
    "sharegpt",
    "ShareGPT's conversations, with from and value",
    _READING + "fits",
    _READING + "read",
    place=9,
    shape=(
        '{"conversations": [{"from": "human", "value": "…"}, {"from": "gpt", "value": "…"}]} a line'
    ),
)
