"""Trusted certificates for agents and models: this machine's, or those of SSL_CERT_FILE."""

from __future__ import annotations

import os
import ssl
from functools import cache

import truststore

from bioeval_tui.evaluation.seams import PeerError
from bioeval_tui.record.names import Peer
from bioeval_tui.text import clean_line

_UNKNOWN_ISSUER = frozenset({18, 19, 20, 21})
"""OpenSSL's codes for untrusted certificates, including self-signed ones."""


def tls_context(peer: Peer) -> ssl.SSLContext:
    """Return the context that all connections share, because creating one reads hundreds of certificates.

    Raises:
        PeerError: SSL_CERT_FILE or SSL_CERT_DIR cannot be used.
    """
    try:
        return _context()
    except OSError as error:
        name = "SSL_CERT_FILE" if os.environ.get("SSL_CERT_FILE") else "SSL_CERT_DIR"
        why = clean_line(error.strerror or str(error), 100)
        shown = clean_line(os.environ.get(name, ""), 200)
        raise PeerError(peer, f"{name} ({shown}) cannot be used: {why}", unreachable=True) from None


@cache
def no_tls_context() -> ssl.SSLContext:
    """Return a context that trusts nobody, for connections without TLS, because it is cheap to create."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def not_trusted(host: str, error: ssl.SSLCertVerificationError) -> str:
    """Return one sentence about a rejected certificate."""
    said = (
        f"the TLS certificate of {host} is not trusted: {clean_line(error.verify_message, 150).rstrip('.')}"
    )
    own = error.verify_code in _UNKNOWN_ISSUER
    return f"{said}; SSL_CERT_FILE can name the file of a CA of your own" if own else said


@cache
def _context() -> ssl.SSLContext:
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file or folder:
        return ssl.create_default_context(cafile=file or None, capath=None if file else folder)
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
