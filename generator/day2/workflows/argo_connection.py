"""A connection to Argo's own server, with the client argo-workflows 6.7.18.

The client is made of Argo Workflows 3.7 and judges what is answered by models of that: it refuses a run that has no end
yet, and an empty list. So it is told not to (`_check_return_type=False`), and what was answered is read as it came.
"""

import json
import os
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.api import PATIENCE, AwayError, unconnected
from generator.live.running import RefusedError
from generator.model.fields import dig

if TYPE_CHECKING:
    from argo_workflows import ApiClient

TOKEN = "ARGO_TOKEN"  # noqa: S105 - the name of a variable
"""The variable of the environment that holds the token, as for Argo's own command."""
AWAY = (429, 502, 503, 504)
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ArgoConnection:
    """Argo's server at a URL; nothing is asked yet. `ca` is a file of authorities in place of the system's. Raises
    UsageError for a URL or a file that cannot be meant.
    """

    def __init__(self, url: str, token: str, ca: Path | None) -> None:
        self.host = _address(url)
        self.client = _client(self.host, token, ca)

    def ask(self, what: str, ask: Callable[..., Any], *words: object) -> Manifest | None:
        """Return the object that a method of the client is answered; None where there is none. `what` tells what the
        method does, for who reads why it does not. Raises UsageError, in one sentence.
        """
        return next(self.told(what, ask, *words), None)

    def told(self, what: str, ask: Callable[..., Any], *words: object, **options: object) -> Iterator[Manifest]:
        """Yield the objects that are answered, one from each line; none where there is no such thing. As `ask`."""
        from argo_workflows.exceptions import ApiException, OpenApiException  # noqa: PLC0415 - heavy
        from urllib3.exceptions import HTTPError  # noqa: PLC0415 - heavy

        self.client.last_response = None
        try:
            ask(*words, **options, _check_return_type=False, _request_timeout=PATIENCE)
        except ApiException as error:
            if error.status == 404 and _read(error.body):
                return
            self._refused(error.status, str(error.body or error.reason or ""), what)
        except (HTTPError, OSError) as error:
            self._unconnected(error)
        except UnicodeDecodeError:
            self.foreign("bytes that are no text")
        except (OpenApiException, AttributeError, TypeError, ValueError):  # it does not know what was answered
            if self.client.last_response is None:
                raise
        yield from self._objects(str(self.client.last_response.data))

    def foreign(self, said: str) -> NoReturn:
        """Raise UsageError that tells what no server of Argo's says."""
        why = "another program answers in its place (a proxy, a login page)"
        raise UsageError(f"{self.host} is no server of Argo Workflows, or {why}: it says {said[:60]}") from None

    def _objects(self, text: str) -> Iterator[Manifest]:
        for line in filter(None, text.strip().split("\n")):  # what is printed may hold other ends of lines
            found = _read(line)
            if found is None:
                self.foreign(f"`{line.strip()}`")
            yield found

    def _unconnected(self, error: Exception) -> NoReturn:
        text = " ".join(str(getattr(error, "reason", None) or error).split())
        if "certificate" in text.lower():
            mend = "name the site's CA with --argo-ca, and the server as its certificate does"
            raise UsageError(f"{self.host}: its certificate is not trusted here ({text}); {mend}") from None
        raise AwayError(f"{self.host}: {unconnected(text)}") from None

    def _refused(self, status: int, body: str, what: str) -> NoReturn:
        words = _words(_read(body) or body)
        if status == 401 or words.endswith("Unauthorized"):
            renew = f"renew the token, {TOKEN} or --argo-token-file"
            raise UsageError(f"{self.host} does not know who we are ({words}): {renew}") from None
        if status == 403:
            raise RefusedError(f"{self.host} does not let you {what}: {words}; ask for that right") from None
        if status in AWAY:
            raise AwayError(f"{self.host} is busy, or Kubernetes behind it (status {status}: {words})") from None
        raise RefusedError(f"{self.host} refuses to {what} (status {status}): {words}") from None


def _address(url: str) -> str:
    """Return the address of a server without a slash at its end. Raises UsageError for what is none, or would send the
    token in clear text through a network.
    """
    shown = url.rpartition("@")[2]  # a password stands before it
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in {"http", "https"} or parts.query or parts.fragment or shown != url:
        raise UsageError(f"--argo-server {shown}: say a URL such as https://argo.example:2746, and no more")
    if parts.scheme == "http" and host not in LOOPBACK:
        raise UsageError(f"--argo-server {url}: the token would go there in clear text; say https://")
    return url.rstrip("/")


def token(path: Path | None) -> str:
    """Return the token for a server: that of a file, else of the environment, without `Bearer` before it. Raises
    UsageError where there is none.
    """
    try:
        found = path.read_text() if path else os.environ.get(TOKEN, "")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"--argo-token-file {path}: {why}") from None
    words = found.split()
    words = words[1:] if words[:1] == ["Bearer"] else words
    if len(words) != 1 or not words[0].isascii():
        whence = f"{path} holds" if path else f"the variable {TOKEN} holds"
        raise UsageError(f"{whence} no token for --argo-server: `kubectl create token ACCOUNT` makes one")
    return words[0]


def _client(host: str, token: str, ca: Path | None) -> "ApiClient":
    from argo_workflows import ApiClient, Configuration  # noqa: PLC0415 - heavy

    from generator.live.repeating import Repeating  # noqa: PLC0415 - as above

    if ca and not _holds_certificates(ca):
        raise UsageError(f"--argo-ca {ca}: it holds no certificate; name the file of the site's CA, PEM")
    configuration = Configuration(host=host, api_key={"BearerToken": f"Bearer {token}"})
    configuration.ssl_ca_cert = str(ca) if ca else None
    configuration.retries = Repeating.once()  # the token goes nowhere else
    return ApiClient(configuration)


def _holds_certificates(path: Path) -> bool:
    try:
        ssl.create_default_context(cafile=str(path))
    except (OSError, ValueError):
        return False
    return True


def _read(text: str | None) -> Manifest | None:
    try:
        found = json.loads(text or "")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _words(said: object) -> str:
    """Return the server's own words, in one line."""
    message = dig(said, "message") if isinstance(said, dict) else said
    return " ".join(str(message).split())[:500]
