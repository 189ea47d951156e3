"""Requests to one API server, many at a time over connections that stay open."""

import contextlib
import json
import logging
import os
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

from generator.errors import UsageError
from generator.live.answers import foreign
from generator.live.apiserver import Started
from generator.live.certificate_end import end_of_pem
from generator.process import threads

if TYPE_CHECKING:
    from kubernetes.client import ApiClient, Configuration

AT_ONCE = 8
"""Requests that are under way together: a server with two cores is busy with them."""
PATIENCE = 60.0
"""Seconds an answer may take. A server that digests hundreds of CRDs needs some."""
BUSY = (429, 503, 504)
ATTEMPTS = 5
"""How often a server that says it is busy is asked."""
STEP = 0.2
"""Seconds before it is asked again, twice as many each time, where it does not say itself."""

OBJECTS = ("/api/", "/apis", "/version")
"""Paths at which an API server answers with objects; /readyz and others are plain text or documents."""
READ = "application/json"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


class AwayError(UsageError):
    """The server does not answer now, as while it is restarted."""


class Request(Struct, frozen=True, kw_only=True):
    """What is asked: `path` with its query, and an object as `body`. `PATCH` is server-side apply, or with `merge` what
    changes of an object. `by` is the user and the groups to ask as, where that is not ourselves.
    """

    path: str
    method: str = "GET"
    body: Mapping[str, Any] | None = None
    merge: bool = False
    by: tuple[str, tuple[str, ...]] | None = None

    @property
    def content(self) -> str:
        """The media type of the body."""
        if self.method != "PATCH":
            return READ
        return MERGE if self.merge else APPLY


class Answer(Struct, frozen=True):
    """The status and what was answered; what is not a JSON object becomes one with its text as `message`."""

    status: int
    body: dict[str, Any]

    @property
    def good(self) -> bool:
        """Whether the server did what was asked."""
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """The server's own words, in one line."""
        return " ".join(str(self.body.get("message") or f"status {self.status}").split())


class ApiConnection:
    """One API server. `throw_away` tells whether it is ours alone, so that objects may be stored there."""

    def __init__(self, client: "ApiClient", *, throw_away: bool) -> None:
        self.throw_away = throw_away
        self.host = _without_login(client.configuration.host)  # which would not be sent anyway
        self._client = client

    def ask(self, request: Request, *, busy: bool = False) -> Answer:
        """Ask once; a busy server is asked again, and with `busy` its last answer returned: another server may stand
        behind one API (an APIService), and be away alone. Raises UsageError where there is no talking to it: no
        connection, no answer in time, not who it should be, or we are not who we should be.
        """
        for attempt in range(1, ATTEMPTS + 1):
            status, text, after = self._send(request)
            if not _busy(status, text) or attempt == ATTEMPTS:
                break
            time.sleep(min(after or STEP * 2**attempt, 10.0))
        answer = Answer(status, _read(text))
        if status == 401:
            raise UsageError(f"{self.host} does not know who we are (401 {answer.message}): {RENEW}")
        if _busy(status, text) and not busy:
            raise AwayError(f"{self.host} is busy (status {status} {ATTEMPTS} times); try again later")
        of_objects = request.path.startswith(OBJECTS)
        if of_objects and (why := foreign(status, answer.body, text.decode(errors="replace"))):
            raise UsageError(f"{self.host} is no Kubernetes API server: {why}; {ADDRESS}")
        return answer

    def text(self, path: str) -> tuple[Answer, str]:
        """Ask once for what is no object, such as a log: what was answered, and its text as it came. Raises UsageError
        where there is no connection.
        """
        status, text, _ = self._send(Request(path=path))
        return Answer(status, _read(text)), text.decode(errors="replace")

    def ask_all(self, requests: Iterable[Request], *, busy: bool = False) -> Iterator[Answer]:
        """Ask many things at once, as `ask`; answers come in the order of the requests. The first that raises ends
        it.
        """
        with threads(AT_ONCE) as pool:
            asked = [pool.submit(self.ask, request, busy=busy) for request in requests]
            for one in asked:
                yield one.result()

    def certificate_ends(self) -> list[tuple[str, datetime | None]]:
        """Return when the certificates of this connection end, by their names: the one that the server shows, and our
        own. Nothing where there is none to see: plain http, a proxy between.
        """
        configuration = self._client.configuration
        found: list[tuple[str, datetime | None]] = []
        if self.host.startswith("https://") and not configuration.proxy:
            found.append((f"the certificate of {self.host}", _shown_by(self.host)))
        if configuration.cert_file:
            text = Path(configuration.cert_file).read_text(errors="replace")
            found.append(("the certificate of your kubeconfig", end_of_pem(text)))
        return found

    def _send(self, request: Request) -> tuple[int, bytes, float]:
        from urllib3.exceptions import HTTPError  # noqa: PLC0415 - heavy

        try:
            answer = self._answer(request, timeout=PATIENCE)
        except (HTTPError, OSError) as error:
            why = _why(error)
            kind = UsageError if "certificate" in why else AwayError  # which no waiting mends
            raise kind(f"{self.host}: {why}") from None
        return answer.status, answer.data, _seconds(answer.headers.get("Retry-After"))

    def watched(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield what happens to the objects of a collection, at first that each of them is there, until the server goes
        away.
        """
        from urllib3.exceptions import HTTPError  # noqa: PLC0415 - heavy

        with contextlib.suppress(HTTPError, OSError, ValueError):
            yield from map(json.loads, self._answer(Request(path=f"{path}?watch=true"), preload_content=False))

    def _answer(self, request: Request, **how: Any) -> Any:
        from urllib3 import HTTPHeaderDict  # noqa: PLC0415 - heavy

        headers = HTTPHeaderDict({"Accept": READ, "Content-Type": request.content})
        if request.by:
            headers["Impersonate-User"] = request.by[0]
            for group in request.by[1]:
                headers.add("Impersonate-Group", group)
        self._client.update_params_for_auth(headers, [], ["BearerToken"], request.path, request.method, request.body)
        body = None if request.body is None else json.dumps(request.body).encode()
        send = self._client.rest_client.pool_manager.request
        return send(request.method, self.host + request.path, body=body, headers=headers, redirect=False, **how)


def _shown_by(host: str) -> datetime | None:
    """Return when the certificate ends that a server shows. Who it is was settled by the requests before."""
    url = urlsplit(host)
    try:
        return end_of_pem(ssl.get_server_certificate((str(url.hostname), url.port or 443), timeout=PATIENCE))
    except OSError:
        return None


ADDRESS = "correct the server's address in the kubeconfig, or whatever answers in its place (a proxy, a login page)"
RENEW = "renew the credentials of the kubeconfig, or name another --context"


def _busy(status: int, text: bytes) -> bool:
    """Tell whether a server can do nothing now: it says so, or its etcd elects a leader or is away, which it calls an
    error of its own (Kubernetes #112152).
    """
    without_etcd = status == 500 and (b"etcdserver: " in text or b"code = Unavailable" in text)
    return without_etcd or (status in BUSY and not _spoken(text))


def _spoken(text: bytes) -> bool:
    # A webhook that does not answer also ends in 503 or 504, and an eviction that a budget forbids in 429: the server
    # explains, and asking again is no use.
    return b"webhook" in text or b"DisruptionBudget" in text


def _read(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = text.decode(errors="replace")
    return found if isinstance(found, dict) else {"message": str(found).strip()[:500]}


def _seconds(header: str | None) -> float:
    return float(header) if header and header.isdigit() else 0.0


def _why(error: Exception) -> str:
    """Say what is wrong with a connection."""
    reason = getattr(error, "reason", None) or error
    text = " ".join(str(reason).split())
    if "certificate has expired" in text:
        return "its certificate has expired; renew it on the control-plane nodes: `kubeadm certs renew all`"
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return f"its certificate is not one that the kubeconfig trusts ({text}); mend certificate-authority there"
    return unconnected(text)


def unconnected(text: str) -> str:
    """Say why there is no connection to a server, by what the libraries say of it."""
    if "timed out" in text.lower():
        return f"no answer within {PATIENCE:g} s; is the server reachable from here?"
    return f"the connection failed ({text}); is the server running and reachable from here?"


def of_started(started: Started) -> ApiConnection:
    """Return a throw-away server."""
    from kubernetes.client import Configuration  # noqa: PLC0415 - heavy

    configuration = Configuration(host=started.url, api_key={"authorization": f"Bearer {started.token}"})
    configuration.ssl_ca_cert = str(started.certificate)
    configuration.proxy = None
    return ApiConnection(_client(configuration), throw_away=True)


def of_kubeconfig(path: Path, context: str | None) -> ApiConnection:
    """Return the cluster of a kubeconfig's context, or of its current one. Nothing is asked yet, but a credential
    plugin that the kubeconfig names is run.

    Raises UsageError when there is no such file, no such context, when it makes no sense or when the plugin fails.
    """
    from kubernetes.client import Configuration  # noqa: PLC0415 - heavy
    from kubernetes.config import ConfigException, load_kube_config  # noqa: PLC0415 - heavy
    from yaml import YAMLError  # noqa: PLC0415 - heavy

    # As for kubectl, $KUBECONFIG may name several files.
    if not any(map(os.path.isfile, str(path).split(os.pathsep))):
        why = "is no file" if os.path.lexists(path) else "there is no such kubeconfig, or you may not see it"
        raise UsageError(f"{path}: {why}; name one with --kubeconfig")
    configuration = Configuration()
    try:
        with _heard() as said:
            load_kube_config(str(path), context, configuration, persist_config=False)  # type: ignore[no-untyped-call]
    except (ConfigException, YAMLError, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        said = [getattr(error, "strerror", None) or str(error)]
    if said:
        raise UsageError(f"{path}: {' '.join(said[0].split())}; mend it, or name another --context")
    _with_scheme(path, _without_login(configuration.host))
    return ApiConnection(_client(configuration), throw_away=False)


def _with_scheme(path: Path, host: str) -> None:
    if not host.lower().startswith(("https://", "http://")):
        address = host.rpartition("//")[2]
        raise UsageError(f"{path}: the server {host} has no https:// before it; write https://{address}")


def _without_login(url: str) -> str:
    scheme, sign, place = url.rpartition("://")
    return f"{scheme}{sign}{place.rpartition('@')[2]}"


@contextlib.contextmanager
def _heard() -> Iterator[list[str]]:
    """Collect what the library logs: it tells there, and only there, that a credential plugin failed."""
    said: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    try:
        yield said
    finally:
        logging.getLogger().removeHandler(handler)


def _client(configuration: "Configuration") -> "ApiClient":
    from kubernetes.client import ApiClient  # noqa: PLC0415 - heavy
    from urllib3 import disable_warnings, exceptions  # noqa: PLC0415 - heavy

    from generator.live.repeating import Repeating  # noqa: PLC0415 - as above

    configuration.retries = Repeating.once()
    configuration.connection_pool_maxsize = AT_ONCE
    disable_warnings(exceptions.InsecureRequestWarning)  # a kubeconfig that verifies nothing says so itself
    return ApiClient(configuration)
