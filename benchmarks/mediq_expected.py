"""What three scripted experts must score on MediQ, counted from the table of cases alone:
`mediq.py` compares.

uv run python benchmarks/mediq_expected.py all_dev_good.jsonl
"""

import json
import random
import sys
from pathlib import Path

SEED = 20241211
"""The published seed of the expert that guesses."""
cases = [json.loads(line) for line in Path(sys.argv[1]).read_text("utf-8").splitlines()]
pairs = [case for case in cases if case["facts"] and len(case["context"]) > 1]
# nothing to obtain: the asking expert is always right
bare = sum(not case["facts"] for case in cases)
first = sum(case["answer_idx"] == "A" for case in cases)
guess = sum(
    random.Random(f"{SEED}/{case['id']}").choice("ABCD") == case["answer_idx"] for case in cases
)
facts = sum(len(case["facts"]) for case in cases)
paired = sum(len(case["facts"]) for case in pairs)
expected = {
    "cases": len(cases),
    "pairs": len(pairs),
    "asks": {"withheld": bare, "supplied": len(pairs) + bare, "questions": facts, "facts": paired},
    "first": {"withheld": first, "supplied": first, "questions": 0, "facts": 0},
    "guesses": {"withheld": guess, "supplied": guess, "questions": 0, "facts": 0},
}
print(json.dumps(expected))
