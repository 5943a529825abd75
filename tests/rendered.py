"""Prompts as a model gets them, rendered in this process.

Raises `UsageError` if a template is wrong.
"""

from bioeval_tui.jobs.sandbox import render
from bioeval_tui.peers.models.prompting import Prompt, evaluator_context, judge_context
from bioeval_tui.protocols import EvaluatorView, JudgeView


def evaluator_prompt(prompt: Prompt, view: EvaluatorView) -> str:
    return render(prompt.name, prompt.text, evaluator_context(view))


def judge_prompt(prompt: Prompt, view: JudgeView) -> str:
    return render(prompt.name, prompt.text, judge_context(prompt, view))
