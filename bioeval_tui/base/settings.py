"""Settings and credentials, only from the environment and `--env-file`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Literal, get_args

from platformdirs import user_data_path

from bioeval_tui.base.errors import StorageError, UsageError
from bioeval_tui.base.files import checked_below
from bioeval_tui.base.text import clean_line

DEFAULT_AGENT_URL = "http://localhost:8081"
DEFAULT_KNOWLEDGE_URL = "http://localhost:8080"
DEFAULT_MODEL = "gpt-4.1-mini"
Provider = Literal["openai", "azure", "bedrock", "vertex"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)
DEFAULT_MODEL_TIMEOUT_S = 120.0
DEFAULT_LONGEST_WAIT_S = 30.0
DEFAULT_LOCAL_PORTS = (8080, 11434, 1234, 8000)
"""The usual ports of llama.cpp, Ollama, LM Studio and vLLM."""
DEFAULT_NEO_URI = "bolt://neo4j@localhost:7687"
APP_NAME = "bioeval-tui"
ENV_FILE = ".env"
MAX_ENV_FILE = 1_000_000


class Secret:
    """A secret string that is hidden in reprs, logs and tracebacks."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Secret('**********')"

    __str__ = __repr__

    def get_secret_value(self) -> str:
        """Return the credential."""
        return self._value


@dataclass(frozen=True)
class RoleSettings:
    """The endpoint of one role's model: BIOEVAL_<ROLE>_BASE_URL, _API_KEY, _MODEL and _API_TYPE."""

    base_url: str | None = None
    api_key: Secret | None = None
    model: str | None = None
    api_type: Provider | None = None


class _Variables:
    """The variables of an environment, each read as what it has to be."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def text(self, name: str) -> str | None:
        return (self._values.get(name) or "").strip() or None

    def secret(self, name: str) -> Secret | None:
        setting = self.text(name)
        if setting:
            return Secret(setting)
        return None

    def seconds(self, name: str, usual: float) -> float:
        setting = self.text(name)
        try:
            value = usual if setting is None else float(setting)
        except ValueError:
            value = 0.0
        if not 0 < value < float("inf"):
            raise UsageError(
                f"{name}={clean_line(setting or '', 40)}: must be a number of seconds, such as"
                f" {usual:g}"
            )
        return value

    def provider(self, name: str) -> Provider | None:
        setting = self.text(name)
        known = next((one for one in PROVIDERS if one == setting), None)
        if setting is not None and known is None:
            raise UsageError(f"{name}={clean_line(setting, 40)}: use one of {', '.join(PROVIDERS)}")
        return known

    def role(self, name: str) -> RoleSettings:
        return RoleSettings(
            self.text(f"{name}_BASE_URL"),
            self.secret(f"{name}_API_KEY"),
            self.text(f"{name}_MODEL"),
            self.provider(f"{name}_API_TYPE"),
        )

    def ports(self, name: str) -> tuple[int, ...]:
        setting = self.text(name)
        if setting is None:
            return DEFAULT_LOCAL_PORTS
        parts = setting.split(",")
        # Python reads no number of thousands of digits.
        digits = all(part.strip().isdecimal() and len(part) < 10 for part in parts)
        if not digits or not all(0 < int(part) < 65_536 for part in parts):
            raise UsageError(f"{name}={clean_line(setting, 40)}: must be ports, such as 8080,11434")
        return tuple(map(int, parts))


# A plain dataclass: every command and the first paint of the screens read settings, and pydantic
# takes longer to import than all else that they need.
@dataclass(frozen=True)
class Settings:
    """The settings from the environment, read by `from_environment`."""

    openai_api_key: Secret | None = None
    openai_base_url: str | None = None
    openai_api_type: Provider = "openai"
    """The provider, by the openai package's names: openai, azure, bedrock or vertex."""
    evaluator: RoleSettings = RoleSettings()
    judge: RoleSettings = RoleSettings()
    agent_api_type: Provider | None = None
    neo_uri: str = DEFAULT_NEO_URI
    neo_uri_is_set: bool = False
    neo_username: str = "neo4j"
    neo_password: Secret | None = None
    graph_uri: Secret | None = None
    """The URI of a plug-in's graph; it may contain a password."""
    agent_url: str = DEFAULT_AGENT_URL
    agent_url_is_set: bool = False
    agent_api_key: Secret | None = None
    knowledge_url: str = DEFAULT_KNOWLEDGE_URL
    model_timeout_s: float = DEFAULT_MODEL_TIMEOUT_S
    """Timeout for a complete answer of the evaluator's or judge's model, in seconds."""
    longest_wait_s: float = DEFAULT_LONGEST_WAIT_S
    """Longest wait before a retry, in seconds, even if Retry-After asks for more."""
    data_dir_override: str | None = None
    local_ports: tuple[int, ...] = DEFAULT_LOCAL_PORTS
    """The ports of this machine at which `doctor` looks for model servers."""
    tasks_dirs: tuple[Path, ...] = ()
    tasks_data_override: Path | None = None
    follow_links: tuple[Path, ...] = ()
    """The folders into which submissions may be links, besides their own run groups."""
    leaderboard: str | None = None
    """The leaderboard from the command line: `own`, `published` or a file; None to choose
    automatically.
    """

    @property
    def where_words(self) -> tuple[str, ...]:
        """The options that tell a command for a shell where these tasks and their data are."""
        words: list[str] = []
        for folder in self.tasks_dirs:
            words += ["--tasks-dir", str(folder)]
        if self.tasks_data_override is not None:
            words += ["--data-dir", str(self.tasks_data_override)]
        return tuple(words)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read the environment; no file is read.

        Raises:
            UsageError: a number of seconds is invalid, or a provider is unknown.
        """
        given = _Variables(os.environ if environment is None else environment)
        folders = tuple(
            Path(part) for part in (given.text("BIOEVAL_TASKS_DIR") or "").split(os.pathsep) if part
        )
        return cls(
            openai_api_key=given.secret("OPENAI_API_KEY"),
            openai_base_url=given.text("OPENAI_BASE_URL"),
            openai_api_type=given.provider("OPENAI_API_TYPE") or "openai",
            evaluator=given.role("BIOEVAL_EVALUATOR"),
            judge=given.role("BIOEVAL_JUDGE"),
            agent_api_type=given.provider("BIOEVAL_AGENT_API_TYPE"),
            neo_uri=given.text("NEO_URI") or DEFAULT_NEO_URI,
            neo_uri_is_set=given.text("NEO_URI") is not None,
            neo_username=given.text("NEO_USERNAME") or "neo4j",
            neo_password=given.secret("NEO_PASSWORD"),
            graph_uri=given.secret("BIOEVAL_GRAPH_URI"),
            agent_url=given.text("BIOEVAL_AGENT_URL") or DEFAULT_AGENT_URL,
            agent_url_is_set=given.text("BIOEVAL_AGENT_URL") is not None,
            agent_api_key=given.secret("BIOEVAL_AGENT_API_KEY"),
            knowledge_url=given.text("BIOEVAL_KNOWLEDGE_URL") or DEFAULT_KNOWLEDGE_URL,
            model_timeout_s=given.seconds("BIOEVAL_MODEL_TIMEOUT_S", DEFAULT_MODEL_TIMEOUT_S),
            longest_wait_s=given.seconds("BIOEVAL_LONGEST_WAIT_S", DEFAULT_LONGEST_WAIT_S),
            data_dir_override=given.text("BIOEVAL_DATA_DIR"),
            local_ports=given.ports("BIOEVAL_LOCAL_PORTS"),
            tasks_dirs=folders,
        )

    @property
    def evaluator_model(self) -> str:
        """The default model of the evaluator."""
        return self.evaluator.model or DEFAULT_MODEL

    @property
    def judge_model(self) -> str:
        """The default model of the judge."""
        return self.judge.model or DEFAULT_MODEL

    @cached_property
    def data_dir(self) -> Path:
        """The folder for recordings, graphs, prepared tasks and logs.

        Raises:
            UsageError: BIOEVAL_DATA_DIR is a file, or below one.
        """
        if self.data_dir_override:
            folder = Path(self.data_dir_override).expanduser().absolute()
            nearest = next((path for path in (folder, *folder.parents) if path.exists()), folder)
            if nearest.exists() and not nearest.is_dir():
                shown = clean_line(self.data_dir_override, 200)
                raise UsageError(
                    f"BIOEVAL_DATA_DIR={shown}: {clean_line(str(nearest), 200)} is not a folder"
                )
            return folder

        return user_data_path(APP_NAME, appauthor=False)

    @property
    def tasks_data_dir(self) -> Path:
        """The folder of prepared tasks: the data folder's own, or one that was given to be read."""
        return self.tasks_data_override or self.own_tasks_dir

    @property
    def own_tasks_dir(self) -> Path:
        """The data folder's folder of prepared tasks."""
        return self._own("tasks")

    @property
    def runs_dir(self) -> Path:
        """The folder of recordings."""
        return self._own("runs")

    @property
    def trash_dir(self) -> Path:
        """The folder of deleted runs."""
        return self._own("trash")

    @property
    def logs_dir(self) -> Path:
        """The folder of log files; they contain no message text."""
        return self._own("logs")

    def _own(self, name: str) -> Path:
        try:
            return checked_below(self.data_dir, name)
        except StorageError as error:
            raise UsageError(
                f"{error}; set BIOEVAL_DATA_DIR to a folder that contains its own"
            ) from None

    @property
    def graph_file(self) -> Path:
        """The embedded knowledge graph's file."""
        return self.data_dir / "graph.db"


_CREDENTIAL = re.compile(
    r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|AUTH)(_|$)|^(OPENAI|NEO)_", re.IGNORECASE
)


def plain_environment(keep: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the environment for a child process without credentials, except variables that start
    with a name in `keep`.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(keep or ("\0",))
        or not (_CREDENTIAL.search(name) or ("://" in value and "@" in value))
    }


def function_environment() -> dict[str, str]:
    """Return the environment for an agent's function in a process of its own: this one without this
    program's own credentials.

    PYTHONPATH is left out, too: what the function starts should find what its own interpreter
    finds.
    """
    plain = plain_environment()
    return {
        name: value
        for name, value in os.environ.items()
        if (name in plain or not name.startswith(("BIOEVAL_", "NEO_")))
        and name not in ("PYTHONPATH", "PYTHONHOME")
    }


def read_env_file(path: Path) -> None:
    """Add the variables of a `.env` file to the environment, which child processes inherit;
    existing variables are kept.

    Raises:
        UsageError: the file cannot be read, or a line of it is not `NAME=value`.
    """
    from dotenv import dotenv_values  # where a file is given
    from dotenv.parser import parse_stream

    shown = clean_line(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(MAX_ENV_FILE + 1)
        if len(data) > MAX_ENV_FILE:
            raise UsageError(
                f"--env-file {shown}: larger than {MAX_ENV_FILE:,} bytes, too large for a file of"
                " variables"
            )
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"--env-file {shown} cannot be read: {reason}") from None
    for binding in parse_stream(StringIO(text)):
        written = binding.original.string
        if binding.error or (binding.key is not None and binding.value is None) or "\0" in written:
            blank_lines = written[: len(written) - len(written.lstrip())].count("\n")
            raise UsageError(
                f"{shown}, line {binding.original.line + blank_lines}: must be NAME=value"
            )
    for name, value in dotenv_values(stream=StringIO(text)).items():
        os.environ.setdefault(name, value or "")
    _env_files.append(path.absolute())


def env_file_hint() -> str:
    """Return how to use the `.env` of the working folder, as the end of a sentence; empty without
    one.
    """
    file = Path(ENV_FILE).absolute()
    if not file.is_file() or file in _env_files:
        return ""
    return f"; there is a {ENV_FILE} here: pass --env-file {ENV_FILE} to use it"


_env_files: list[Path] = []
