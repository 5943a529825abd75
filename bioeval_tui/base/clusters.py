"""A connection to a Dask cluster, whose workers grade submissions or hold conversations."""

from __future__ import annotations

import importlib
import logging
from typing import Any

from bioeval_tui.base.errors import NotMeasuredError, UnavailableError, UsageError
from bioeval_tui.base.installation import install_command
from bioeval_tui.base.text import clean_line

CONNECT_TIMEOUT_S = 10


def load_distributed() -> Any:
    """Return the package `distributed`, which is optional.

    Raises:
        NotMeasuredError: it is missing.
    """
    try:
        return importlib.import_module("distributed")
    except ImportError:
        command = install_command(["distributed"], "distributed")
        raise NotMeasuredError(f"--scheduler needs distributed: install with `{command}`") from None


def connect(scheduler: str) -> Any:
    """Return a client of the scheduler, such as `tcp://127.0.0.1:8786`, once it has a worker.

    Raises:
        NotMeasuredError: the package `distributed` is missing.
        UnavailableError: the scheduler does not answer, or has no worker.
        UsageError: this is no address of a scheduler.
    """
    distributed = load_distributed()
    try:
        # A client that cannot be made leaves a thread, which at the end waits 20 s and complains.
        importlib.import_module("distributed.comm").get_address_host_port(scheduler)
    except ValueError:
        raise UsageError(
            "--scheduler: give the address of a Dask scheduler, such as tcp://127.0.0.1:8786, not"
            f" {clean_line(scheduler, 100) or 'nothing'}"
        ) from None
    client: Any = None
    try:
        client = distributed.Client(scheduler, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
        client.wait_for_workers(1, timeout=CONNECT_TIMEOUT_S)
    except (OSError, ValueError, TimeoutError) as error:
        if client is not None:
            close(client)
        reason = clean_line(str(error), 200)
        raise UnavailableError(
            f"the Dask scheduler {clean_line(scheduler, 100)} cannot be used: {reason}"
        ) from None
    return client


def close(client: Any) -> None:
    """Leave the cluster, without a traceback if it has gone before."""
    log = logging.getLogger("distributed.client")
    before = log.disabled
    log.disabled = True
    try:
        client.close()
    finally:
        log.disabled = before
