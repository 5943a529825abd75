"""Prompts as a model gets them."""

from bioeval_tui.evaluation.models.prompting import Prompt, evaluator_context
from bioeval_tui.evaluation.models.templates import render
from bioeval_tui.protocols import EvaluatorView


def evaluator_prompt(prompt: Prompt, view: EvaluatorView) -> str:
    """Return the evaluator's instructions, rendered in this process. Raises `UsageError` if the template is wrong."""
    return render(prompt.name, prompt.text, evaluator_context(view))
