"""Whose certificates are trusted, by agents and models alike: those of this machine, or of SSL_CERT_FILE."""

from __future__ import annotations

import os
import re
import ssl
import sys
from functools import cache
from pathlib import Path

from bioeval_tui.evaluate.seams import Peer, PeerError
from bioeval_tui.text import clean_line

_HASHED = re.compile(r"[0-9a-f]{8}\.\d")
"""Names by which OpenSSL finds certificates in a folder."""

_CA_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, Red Hat
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",  # Alpine
)

_UNKNOWN_ISSUER = frozenset({18, 19, 20, 21})
"""OpenSSL's codes for certificates that nobody known vouches for, self-signed ones among them."""


def tls_context(peer: Peer) -> ssl.SSLContext:
    """Return the context that all connections share: making one reads hundreds of certificates.

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
    """Return a context that trusts nobody, for connections without TLS: it costs nothing to make."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def not_trusted(host: str, error: ssl.SSLCertVerificationError) -> str:
    """Return one sentence on a certificate that was refused."""
    said = (
        f"the TLS certificate of {host} is not trusted: {clean_line(error.verify_message, 150).rstrip('.')}"
    )
    own = error.verify_code in _UNKNOWN_ISSUER
    return f"{said}; SSL_CERT_FILE can name the file of a CA of your own" if own else said


@cache
def _context() -> ssl.SSLContext:
    if file := os.environ.get("SSL_CERT_FILE"):
        return ssl.create_default_context(cafile=file)
    if folder := os.environ.get("SSL_CERT_DIR"):
        return ssl.create_default_context(capath=folder)
    if sys.platform in ("darwin", "win32"):
        # These systems keep their certificates where OpenSSL does not look.
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    paths = ssl.get_default_verify_paths()
    if paths.cafile or (
        paths.capath and any(_HASHED.fullmatch(path.name) for path in Path(paths.capath).iterdir())
    ):
        return ssl.create_default_context()
    # Python was built for another distribution than this one.
    return ssl.create_default_context(cafile=next(filter(os.path.isfile, _CA_FILES), None))
