"""HTTP downloads of data sources: retried, written atomically, with errors in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from bioeval_tui.files import writing_whole
from bioeval_tui.grade.tasks.sources.base import SourceError
from bioeval_tui.text import clean_line

ATTEMPTS = 3
BACKOFF_S = 0.2
TIMEOUT_S = 30.0
MAX_TEXT_BYTES = 50_000_000


def download(url: str, target: Path, hint: str) -> Path:
    """Download `url` to `target` and return it; `hint` says what to do by hand if that fails.

    Raises:
        SourceError: the host cannot be reached or refuses.
        StorageError: the disk is full, or the folder cannot be written.
    """

    def save(response: httpx2.Response) -> None:
        with writing_whole(target) as file:
            for chunk in response.iter_bytes(1 << 16):
                file.write(chunk)

    _get(url, hint, save)
    return target


def fetch_text(url: str, hint: str) -> str:
    """Return the text at `url`.

    Raises:
        SourceError: the host cannot be reached or refuses.
    """
    texts: list[str] = []

    def keep(response: httpx2.Response) -> None:
        body = bytearray()
        for chunk in response.iter_bytes(1 << 16):
            body += chunk
            if len(body) > MAX_TEXT_BYTES:
                host = clean_line(urlsplit(url).netloc)
                raise SourceError(
                    f"{host} sent more than {MAX_TEXT_BYTES:,} bytes for {clean_line(url)}; {hint}"
                )
        texts.append(body.decode(response.encoding or "utf-8", "replace"))

    _get(url, hint, keep)
    return texts[-1]


def _get(url: str, hint: str, use: _Use) -> None:
    def passing(error: BaseException) -> bool:
        if isinstance(error, httpx2.HTTPStatusError):
            return error.response.status_code in (408, 425, 429, 500, 502, 503, 504)
        return isinstance(error, httpx2.TransportError)

    host = clean_line(urlsplit(url).netloc)
    try:
        for attempt in Retrying(
            retry=retry_if_exception(passing),
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential(multiplier=BACKOFF_S, max=5),
            reraise=True,
        ):
            with attempt, httpx2.stream("GET", url, follow_redirects=True, timeout=TIMEOUT_S) as response:
                response.raise_for_status()
                use(response)
    except httpx2.HTTPStatusError as error:
        raise SourceError(
            f"{host} answered {error.response.status_code} for {clean_line(url)}; {hint}"
        ) from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        reason = clean_line(str(error)) or type(error).__name__
        raise SourceError(f"{host} cannot be reached ({reason}); {hint}") from None


if TYPE_CHECKING:
    from collections.abc import Callable

    _Use = Callable[[httpx2.Response], None]
