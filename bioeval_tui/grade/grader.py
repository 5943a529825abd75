"""Grader: a name and a function that scores, in the published shape; and the declarative kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bioeval_tui.base.errors import InputError, InvalidSubmissionError
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.answers import MetricSpec, metric_spec
from bioeval_tui.grade.score_numbers import to_score
from bioeval_tui.grade.tasks.task_code import load_function

if TYPE_CHECKING:
    import pandas as pd

    from bioeval_tui.grade.leaderboard import Leaderboard


class Grader:
    """Scores submissions and ranks scores.

    Args:
        name: the name to show.
        grade_fn: a function `(submission, answers) -> score`, or `module:function`: imported at
            once, as published, but a task's own (with `folder`) when it is first used.
        is_lower_better: the direction; None guesses it from the leaderboard.
        folder, root: the task's folder and its tasks root, where `module` is looked up; without
            them it is an installed one.
        spec: set for a declarative grader.

    Raises:
        InputError, CodeError: (an ImportError) `grade_fn` cannot be imported.
    """

    def __init__(
        self,
        name: str,
        grade_fn: str | Callable[..., Any],
        *,
        is_lower_better: bool | None = None,
        folder: Path | None = None,
        root: Path | None = None,
        spec: MetricSpec | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise InputError("a grader needs a name")
        self.name = name
        self.lower_is_better = is_lower_better
        self.spec = spec
        self._folder, self._root = folder, root
        self._reference = grade_fn if isinstance(grade_fn, str) else None
        self._function = None if isinstance(grade_fn, str) else grade_fn
        if folder is None:
            _ = self.grade_fn

    @property
    def grade_fn(self) -> Callable[..., Any]:
        """The scoring function.

        Raises:
            InputError, CodeError: it cannot be imported.
        """
        if self._function is None:
            assert self._reference is not None
            self._function = load_function(self._reference, self._folder, self._root)
        return self._function

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build from `{name, grade_fn}`, as published."""
        return cls(data["name"], data["grade_fn"])

    def __call__(self, submission: Any, answers: Any) -> float | None:
        """Return the score with five decimals; None if the submission is invalid or gets no score.

        Raises:
            TypeError: the function returned something that is not a number.
            Exception: any other exception of the function.
        """
        try:
            score = self.grade_fn(submission, answers)
        except Exception as error:
            # Recognised by its name: a published grader raises BioML-bench's own
            # InvalidSubmissionError, which cannot be imported here. Everything else is passed to
            # the caller.
            if is_invalid_submission(error):
                return None
            raise
        if score is None:
            return None
        return to_score(score)

    def is_lower_better(self, leaderboard: pd.DataFrame) -> bool:
        """Return whether lower scores are better: as configured, otherwise guessed from the first
        and last row.
        """
        return self._board(leaderboard).is_lower_better

    def rank_score(self, score: float | None, leaderboard: pd.DataFrame) -> dict[str, Any]:
        """Return medals, thresholds and percentile of `score`; see `Ranking.to_dict` for the keys.

        Raises:
            InputError: the leaderboard has no numeric `score` column or no rows.
        """
        return self._board(leaderboard).rank(score).to_dict()

    def _board(self, frame: pd.DataFrame) -> Leaderboard:
        # Here and below: pandas, which reading a config does not wait for.
        from bioeval_tui.grade.leaderboard import build_leaderboard, scores_of

        return build_leaderboard(scores_of(frame, "a table", self.name), self.lower_is_better)


def is_invalid_submission(error: BaseException) -> bool:
    """Whether `error` says that the submission is invalid: ours, or BioML-bench's or MLE-bench's
    own class.
    """
    return isinstance(error, InvalidSubmissionError) or any(
        kind.__name__ == "InvalidSubmissionError" for kind in type(error).__mro__
    )


def grader_from_config(config: Mapping[str, Any], folder: Path, root: Path) -> Grader:
    """Build the grader that `config.yaml` describes under `grader`.

    Raises:
        InputError: a key is missing or wrong; the sentence names it.
    """
    name = config.get("name") or config.get("metric")
    if not isinstance(name, str) or not name:
        raise InputError("`grader.name` is missing")
    direction = config.get("is_lower_better")
    if direction is not None and not isinstance(direction, bool):
        raise InputError("`grader.is_lower_better` must be true or false")
    reference = config.get("grade_fn")
    if reference is not None:
        if not isinstance(reference, str) or ":" not in reference:
            raise InputError("`grader.grade_fn` must be of the form module:function")
        return Grader(name, reference, is_lower_better=direction, folder=folder, root=root)
    if "metric" not in config:
        raise InputError("`grader` needs `grade_fn` or `metric`")
    spec = metric_spec(config)
    lower = spec.metric.lower_is_better if direction is None else direction
    return Grader(name, _frame_function(spec), is_lower_better=lower, spec=spec)


def _frame_function(spec: MetricSpec) -> Callable[[Any, Any], Any]:
    """Return the declared metric as a grader's function: `(submission, answers) -> score`.

    It takes DataFrames for CSV tasks and paths for h5ad tasks, as a grader with code does.
    """

    def grade(submission: Any, answers: Any) -> Any:
        from bioeval_tui.grade.scorers import score_declared

        return score_declared(spec, submission, answers)

    grade.__doc__ = (
        f"{clean_line(spec.metric.title)} of {', '.join(spec.targets) or 'an h5ad file'}."
    )
    return grade
