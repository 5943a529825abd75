"""What a failed request means."""

from __future__ import annotations

import errno

import pytest
from aiohttp import ClientConnectorError
from aiohttp.client_reqrep import ConnectionKey

from bioeval_tui.peers.failures import connection_error


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS])
def test_running_out_of_file_descriptors_is_not_the_agents_fault(number: int) -> None:
    key = ConnectionKey("127.0.0.1", 1, False, True, None, None, None)
    for error in (OSError(number, "x"), ClientConnectorError(key, OSError(number, "x"))):
        found = connection_error("agent", "agent.example", error)
        assert (found.exhausted, found.retryable) == (True, True)
        assert "this machine" in str(found)
    refused = ClientConnectorError(key, ConnectionRefusedError(errno.ECONNREFUSED, "x"))
    assert not connection_error("agent", "agent.example", refused).exhausted
