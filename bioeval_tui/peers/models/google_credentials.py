"""Google's usual credentials for Vertex, whose tokens come through `proxy_for`, as everything else
does.
"""

from __future__ import annotations

from typing import Any

from bioeval_tui.base.proxies import proxy_for

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


class GoogleCredentials:
    """What the openai package asks for headers: the credentials that google-auth finds when the
    first are needed.
    """

    def __init__(self) -> None:
        self._found: Any = None

    def before_request(self, request: Any, method: str, url: str, headers: dict[str, str]) -> None:
        """Add a token to `headers`; `request` is google-auth's transport, with a session of
        requests.
        """
        # The openai package has imported both, or has said that they are missing.
        import google.auth

        adapter = _adapter()
        request.session.mount("http://", adapter)
        request.session.mount("https://", adapter)
        if self._found is None:
            self._found, _ = google.auth.default(scopes=SCOPES, request=request)
        self._found.before_request(request, method, url, headers)


def _adapter() -> Any:
    from requests.adapters import HTTPAdapter

    class ByProxies(HTTPAdapter):
        """Ignores the proxies that requests reads from the environment, which it also uses for this
        machine.
        """

        def send(self, request: Any, *arguments: Any, **options: Any) -> Any:
            proxy = proxy_for(request.url)
            return super().send(
                request, *arguments, **options | {"proxies": {"all": proxy} if proxy else {}}
            )

    return ByProxies()
