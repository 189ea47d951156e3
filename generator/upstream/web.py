"""Requests over HTTP: whom to trust, who is between, and how to say who asks."""

import ssl
import time
from base64 import b64encode
from http.client import HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import BaseHandler, HTTPSHandler, OpenerDirector, build_opener, getproxies, proxy_bypass


def opener(ca: Path | str | None, *more: BaseHandler) -> OpenerDirector:
    """Return what sends requests; a site's own CA is trusted beside those of the system; `more` handles answers in
    another way. Raises OSError for a file that holds no certificates.
    """
    context = ssl.create_default_context()
    if ca:
        context.load_verify_locations(ca)
    return build_opener(HTTPSHandler(context=context), *more)


def whole(response: HTTPResponse | HTTPError, most: int, end: float) -> bytes:
    """Return what was answered, a little more than `most` bytes where it is longer. Raises TimeoutError where it still
    comes at `end` (of the monotonic clock): the time that a request is given counts for each piece, not for all.
    """
    found = bytearray()
    while len(found) <= most and (piece := response.read1(1 << 16)):
        found += piece
        if time.monotonic() > end:
            raise TimeoutError("timed out")
    return bytes(found)


def basic(user: str, password: str) -> str:
    """Return the words of a Basic header."""
    return b64encode(f"{user}:{password}".encode()).decode()


def through(scheme: str, host: str) -> str:
    """Name the proxy that leads to a host, without its credentials; "" where there is none."""
    proxy = getproxies().get(scheme)
    if not proxy or proxy_bypass(host):
        return ""
    return f"through the proxy {proxy.rpartition('://')[2].rpartition('@')[2].rstrip('/')}"
