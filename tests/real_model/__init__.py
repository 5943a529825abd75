"""Whole runs with a language model that nobody scripted.

    BIOEVAL_REAL_MODEL_PYTHON="$(scripts/real-model --install)" uv run pytest -n 0 tests/real_model

Without that variable, `conftest.py` leaves this folder out; `.ci/run` sets it. SmolLM2-135M is the
weakest user, judge and agent that one will meet: no test expects sense of it. What is held is what
the program makes of it.
"""
