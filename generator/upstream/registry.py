"""What registries know of images: digest and size, over the OCI distribution API (its pull half).

`oras` on PyPI was looked at: it sets no time limit on a request, gives manifests without their bytes or digest, and
asks by GET only, which Docker Hub counts as a pull.
"""

import hashlib
import json
import os
import re
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from email.message import Message
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import OpenerDirector, Request

from msgspec import Struct

from generator.errors import UsageError
from generator.layout.image_references import normalised, split
from generator.process import threads
from generator.upstream.logins import Logins, logins
from generator.upstream.web import opener, through, whole

INDEXES = {
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
}
ACCEPT = ", ".join(
    (
        *sorted(INDEXES),
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
AT_ONCE = 8
LARGEST = 4 << 20


class ImageAnswer(Struct, frozen=True):
    """What a registry says of an image: the digest of what its tag leads to, and the compressed size of its layers on
    linux/amd64 in bytes, where that was asked; or why it says nothing. `unreachable`: nobody can be asked there.
    """

    digest: str = ""
    size: int | None = None
    error: str = ""
    unreachable: bool = False


class _AskError(Exception):
    """A registry did not answer as hoped: the message is for people."""


def ask(
    references: Iterable[str],
    *,
    sizes: bool,
    seconds: float = 60,
    told: Callable[[str, ImageAnswer], None] = lambda _reference, _answer: None,
) -> dict[str, ImageAnswer]:
    """Ask the registries of these images, several at once and `seconds` for each; `told` hears every answer.

    Credentials come from `logins`, a CA from the file $GEN_REGISTRY_CA, proxies from the environment. A registry that
    cannot be reached is not asked for further images. Raises UsageError where one of these files cannot be read; all
    else is one image's `error`.
    """
    client = _Client(_opener(), logins(), {}, {})

    def one(reference: str) -> tuple[str, ImageAnswer]:
        answer = _answer(client, reference, time.monotonic() + seconds, sizes=sizes)
        told(reference, answer)
        return reference, answer

    with threads(AT_ONCE) as pool:
        return dict(pool.map(one, dict.fromkeys(references)))


def _opener() -> OpenerDirector:
    ca = os.environ.get("GEN_REGISTRY_CA")
    try:
        return opener(ca)
    except OSError as error:
        raise UsageError(f"GEN_REGISTRY_CA={ca}: cannot be read as certificates: {error}") from None


def _answer(client: "_Client", reference: str, end: float, *, sizes: bool) -> ImageAnswer:
    name, tag, digest = split(normalised(reference))
    host, _, repository = name.partition("/")
    if host in client.unreachable:
        return ImageAnswer(error=client.unreachable[host], unreachable=True)
    try:
        return client.answer(host, repository, digest or tag, end, sizes=sizes)
    except _AskError as error:
        return ImageAnswer(error=client.told(host, str(error)))
    except HTTPError as error:
        return ImageAnswer(error=client.told(host, _status(error, host)))
    except URLError as error:
        return ImageAnswer(error=client.unreachable.setdefault(host, _words_of(error, host)), unreachable=True)
    except (OSError, HTTPException, ValueError) as error:
        return ImageAnswer(error=_words_of(error, host))


def _status(error: HTTPError, host: str) -> str:
    known = {
        401: f"{host} wants other credentials: `docker login {host}`",
        403: f"{host} forbids it",
        404: f"{host} does not have it",
        429: f"{host} was asked too often; log in, or try again later",
    }
    return known.get(error.code, f"{host} answers {error.code} {error.reason}")


def _words_of(error: Exception, host: str) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"{host}: {reason.verify_message}; name the file of its CA in GEN_REGISTRY_CA"
    if isinstance(reason, TimeoutError):
        return f"{host} did not answer in time"
    via = through(_scheme(host), host)
    return f"{host} cannot be asked{via and f' {via}'}: {reason or type(reason).__name__}"


class _Client(Struct):
    """Asks registries. `tokens` are Authorization headers by registry and repository, `unreachable` why a registry
    cannot be asked; both are kept between requests.
    """

    opener: OpenerDirector
    logins: Logins
    tokens: dict[tuple[str, str], str]
    unreachable: dict[str, str]

    def told(self, host: str, error: str) -> str:
        """Return an error, with what kept a helper from giving the credentials that may have been wanted."""
        return f"{error}; {self.logins.silent[host]}" if host in self.logins.silent else error

    def answer(self, host: str, repository: str, mark: str, end: float, *, sizes: bool) -> ImageAnswer:
        """Return digest and size of an image; raises what `_answer` catches."""
        if not sizes:
            headers, _ = self.manifest("HEAD", host, repository, mark, end)
            if found := headers.get("Docker-Content-Digest"):
                return ImageAnswer(_expected(found, mark))
        _, body = self.manifest("GET", host, repository, mark, end)
        digest = _expected(f"sha256:{hashlib.sha256(body).hexdigest()}", mark)
        if not sizes:
            return ImageAnswer(digest)
        content = _json(body)
        if content.get("mediaType") in INDEXES or "manifests" in content:
            child = _for_amd64(content)
            _, body = self.manifest("GET", host, repository, child, end)
            _expected(f"sha256:{hashlib.sha256(body).hexdigest()}", child)
            content = _json(body)
        return ImageAnswer(digest, _layers(content))

    def manifest(self, method: str, host: str, repository: str, mark: str, end: float) -> tuple[Message, bytes]:
        """Return headers and body of a manifest, with a token where the registry wants one."""
        base = "https://registry-1.docker.io" if host == "docker.io" else f"{_scheme(host)}://{host}"
        url = f"{base}/v2/{repository}/manifests/{mark}"
        known = self.tokens.get((host, repository))
        try:
            return self.send(url, end, method=method, authorization=known)
        except HTTPError as error:
            if error.code != 401 or known:
                raise
            challenge = error.headers.get("WWW-Authenticate", "")
        token = self.tokens[host, repository] = self.authorization(challenge, host, repository, end)
        return self.send(url, end, method=method, authorization=token)

    def authorization(self, challenge: str, host: str, repository: str, end: float) -> str:
        """Return the header that answers a registry's challenge."""
        words = self.logins.words(host)
        kind, _, rest = challenge.partition(" ")
        if kind.lower() == "basic" and words:
            return f"Basic {words}"
        told = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        if kind.lower() != "bearer" or "realm" not in told:
            raise _AskError(f"{host} wants credentials: `docker login {host}`, or name the folder in DOCKER_CONFIG")
        realm = told["realm"]
        if not realm.startswith("https://") and not _is_here(urlsplit(realm).hostname or ""):
            raise _AskError(f"{host} sends for a token to {realm}, which is not https")
        asked = {"service": told.get("service", ""), "scope": told.get("scope") or f"repository:{repository}:pull"}
        query = urlencode({key: value for key, value in asked.items() if value})
        mark = "&" if "?" in realm else "?"
        _, body = self.send(f"{realm}{mark}{query}", end, authorization=f"Basic {words}" if words else None)
        content = _json(body)
        token = content.get("token") or content.get("access_token")
        if not token:
            raise _AskError(f"{realm} gave no token")
        return f"Bearer {token}"

    def send(
        self, url: str, end: float, *, method: str = "GET", authorization: str | None = None
    ) -> tuple[Message, bytes]:
        """Send one request. The header never follows a redirect."""
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        request = Request(url, method=method, headers={"Accept": ACCEPT, "User-Agent": "gen"})  # noqa: S310 - https, or loopback
        if authorization:
            request.add_unredirected_header("Authorization", authorization)
        with self.opener.open(request, timeout=left) as response:
            headers, found = response.headers, whole(response, LARGEST, end)
        if len(found) > LARGEST:
            raise _AskError("the answer is too long for a manifest")
        return headers, found


def _scheme(host: str) -> str:
    """Return how to speak to a registry: plainly only to one on this machine, as Docker does."""
    return "http" if _is_here(host.partition(":")[0]) else "https"


def _is_here(host: str) -> bool:
    return host == "localhost" or host.startswith("127.")


def _expected(digest: str, mark: str) -> str:
    if mark.startswith("sha256:") and digest != mark:
        raise _AskError(f"the registry sent {digest} for {mark}")
    return digest


def _json(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise _AskError("the answer is not JSON: is this a registry, or a proxy's page?")
    return content


def _for_amd64(index: Mapping[str, Any]) -> str:
    entries = index.get("manifests")
    for entry in entries if isinstance(entries, list) else ():
        platform = entry.get("platform") or {} if isinstance(entry, dict) else {}
        if (platform.get("os"), platform.get("architecture")) == ("linux", "amd64"):
            return str(entry.get("digest"))
    raise _AskError("there is no linux/amd64 in it")


def _layers(manifest: Mapping[str, Any]) -> int:
    try:
        return sum(int(layer["size"]) for layer in manifest["layers"])
    except (KeyError, TypeError, ValueError):
        raise _AskError("its manifest is of a kind that tells no sizes") from None
