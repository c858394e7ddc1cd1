"""Where a request ends, by its head."""

from aiohttp.http import HttpVersion10, HttpVersion11
from aiohttp.web import BaseRequest


def is_framed(request: BaseRequest) -> bool:
    """Whether all agree on where a request ends: the parser takes HTTP/2.0 for a version, and codings that it doesn't undo."""
    coding = request.headers.get("Transfer-Encoding")
    if coding is None:
        return request.version in (HttpVersion11, HttpVersion10)
    return request.version == HttpVersion11 and coding.lower() == "chunked"


def is_last(request: BaseRequest) -> bool:
    """Whether nothing may follow a request: what comes behind one for another protocol, or for a tunnel, may not be HTTP."""
    return "Upgrade" in request.headers or request.method == "CONNECT" or not is_framed(request)
