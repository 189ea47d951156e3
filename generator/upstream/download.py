"""Downloads: charts by the pinned Helm, manifests by Python; CA, credentials and proxies come from the environment. And
what to say of one that failed: the server's words, the proxy between, and the smallest fix.
"""

import http.client
import json
import os
import re
import urllib.error
import urllib.request
from netrc import NetrcParseError, netrc
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from generator.components.component import Chart
from generator.errors import CommandError, UsageError
from generator.layout.emit import emit
from generator.process import run
from generator.upstream.findings import RefusedError
from generator.upstream.helm import helm, hermetic, words
from generator.upstream.logins import Logins, logins
from generator.upstream.web import basic, opener, through

SECONDS = 120
LARGEST = 64 * 2**20
PAGE = "what came is a web page, no YAML: of a login or a proxy?"
_CA = "if this site has its own CA, give its certificate: GEN_CHART_CA=FILE"
_LOGIN = "give credentials: NETRC=FILE for HTTP, DOCKER_CONFIG=FOLDER for OCI"
_RIGHTS = "check the rights of the credentials: NETRC=FILE for HTTP, DOCKER_CONFIG=FOLDER for OCI"
_THERE = "check the version, and whether the repository or mirror has it"
_OPEN = "open the address in a browser; log in by NETRC=FILE, or correct the proxy (HTTPS_PROXY) or the mirror"
# By what stands in Helm's words, and in those of Python's own HTTP: the first that fits; a port may hold any digits.
HINTS = (
    ("web page", _OPEN),
    ("x509", _CA),
    ("certificate verify failed", _CA),
    (r"\b401\b", _LOGIN),
    (r"\b403\b", _RIGHTS),
    ("denied", _LOGIN),
    ("credential", _LOGIN),
    ("not found", _THERE),
    (r"\b404\b", _THERE),
)
# Trouble of a whole server, whatever was asked of it.
SERVER = (
    "web page", "x509", "certificate verify failed", r"\b401\b", "connection refused", "no such host",
    "name or service", "name resolution", "timeout", "timed out", "no answer", "unreachable", "no route",
    "proxyconnect", "index.yaml",
)  # fmt: skip


class Sources(Struct, frozen=True, kw_only=True):
    """What downloads need of this machine: `ca`, a file of CA certificates beside the system's; `docker`, a folder with
    Docker's config.json, and what it says, for OCI registries; `netrc`, a file of passwords for HTTP.
    """

    ca: Path | None = None
    docker: Path | None = None
    logins: Logins | None = None
    netrc: Path | None = None


def sources() -> Sources:
    """Read GEN_CHART_CA, DOCKER_CONFIG and NETRC. Raises UsageError for what is not there or cannot be read."""
    docker = _given("DOCKER_CONFIG")
    known = logins() if docker else None
    return Sources(ca=_given("GEN_CHART_CA"), docker=docker, logins=known, netrc=_given("NETRC"))


def _given(name: str) -> Path | None:
    value = os.environ.get(name)
    if value and not Path(value).exists():
        raise UsageError(f"{name}: there is no {value}; correct it or unset it")
    return Path(value).absolute() if value else None


def pull_chart(chart: Chart, repository: str, how: Sources) -> bytes:
    """Return the chart's archive from a repository (https:// or oci://). Raises RefusedError."""
    name = f"chart {chart.name} {chart.version} from {repository}"
    if urlsplit(repository).password:
        raise RefusedError(
            f"chart {chart.name}: the address of its repository holds a password, which Git would keep",
            "take it out of the cluster file; give it in NETRC=FILE or DOCKER_CONFIG=FOLDER",
        )
    login = _login(repository, how)
    with hermetic(network=True) as env:
        # Helm's own option for a CA would take the place of the system's; Go reads this beside SSL_CERT_DIR.
        if how.ca:
            env["SSL_CERT_FILE"] = str(how.ca)
        oci = repository.startswith("oci://")
        try:
            said = _pull_oci(chart, repository, how, env) if oci else _pull_http(chart, repository, env, login)
        except UsageError as error:
            said = error.output if isinstance(error, CommandError) else f"no answer within {SECONDS} seconds"
        found = sorted(Path(env["HOME"]).glob("*.tgz"))
        if not found:
            why = "; ".join(filter(None, (words(said, env["HOME"]), _silent(repository, how))))
            raise refused(name, why, repository, "site.charts")
        return found[0].read_bytes()


def _pull_oci(chart: Chart, repository: str, how: Sources, env: dict[str, str]) -> str:
    argv = [helm(), "pull", f"{repository.rstrip('/')}/{chart.name}", "--version", chart.version]
    argv += ["--destination", env["HOME"]]
    if how.docker and how.logins:
        host = urlsplit(repository).netloc
        config = how.docker / "config.json"
        if found := how.logins.words(host):
            # Helm itself could start no helper that Docker's file names: it sees no programs of the user.
            config = Path(env["HOME"], "config.json")
            config.write_text(json.dumps({"auths": {host: {"auth": found}}}), encoding="utf-8")
        argv += ["--registry-config", str(config)]
    return run(argv, env=env, timeout=SECONDS)


def _silent(repository: str, how: Sources) -> str:
    """Return why a credential helper gave nothing for a registry, "" where none was asked."""
    return how.logins.silent.get(urlsplit(repository).netloc, "") if how.logins else ""


def _pull_http(chart: Chart, repository: str, env: dict[str, str], login: tuple[str, str]) -> str:
    """Pull through a file of repositories: a password on the command line would be seen by every user."""
    entry = {"name": "r", "url": repository, "username": login[0], "password": login[1]}
    repositories = Path(env["HOME"], "repositories.yaml")
    repositories.write_text(emit({"apiVersion": "v1", "repositories": [entry]}), encoding="utf-8")
    said = run([helm(), "repo", "update", "r"], env=env, timeout=SECONDS)
    if "Unable to get an update" in said:
        # Helm ends well all the same.
        return said.partition("Unable to get an update")[2].partition("\n")[2].partition("Update Complete")[0]
    return run(
        [helm(), "pull", f"r/{chart.name}", "--version", chart.version, "--destination", env["HOME"]],
        env=env,
        timeout=SECONDS,
    )


def _login(url: str, how: Sources) -> tuple[str, str]:
    """Return user and password for a server, "" where there are none. Raises UsageError for an unreadable file."""
    if not how.netrc or url.startswith("oci://"):
        return "", ""
    try:
        found = netrc(str(how.netrc)).authenticators(urlsplit(url).hostname or "")
    except (OSError, NetrcParseError, UnicodeDecodeError):
        raise UsageError(f"NETRC: {how.netrc} cannot be read as lines of machine, login and password") from None
    return (found[0], found[2] or "") if found else ("", "")


def pull_manifest(url: str, how: Sources) -> bytes:
    """Return what stands at a URL. Raises RefusedError."""
    try:
        content = _read(url, how)
    except (OSError, http.client.HTTPException, ValueError) as error:
        said = str(error.reason) if isinstance(error, urllib.error.URLError) else str(error)
        heard = f"{error.code} {error.reason}" if isinstance(error, urllib.error.HTTPError) else said
        raise refused(f"manifest {url}", heard or type(error).__name__, url, "site.manifests") from None
    if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        raise refused(f"manifest {url}", PAGE, url, "site.manifests")
    return content


def _read(url: str, how: Sources) -> bytes:
    request = urllib.request.Request(url)  # noqa: S310 - the catalogue has only https://
    login = _login(url, how)
    if login[0]:
        # Unredirected: where the server sends us on to gets no password.
        request.add_unredirected_header("Authorization", f"Basic {basic(*login)}")
    with opener(how.ca).open(request, timeout=SECONDS) as response:
        content: bytes = response.read(LARGEST + 1)
        promised = response.headers.get("Content-Length", "")
    if len(content) > LARGEST:
        raise ValueError(f"more than {LARGEST // 2**20} MiB")
    # Python says nothing of a connection that ends too early.
    if promised.isdecimal() and len(content) < int(promised):
        raise ValueError(f"it broke off: of {promised} bytes only {len(content)} came")
    return content


def refused(name: str, heard: str, address: str, field: str) -> RefusedError:
    """Say why something could not be had from an address; `field` of the cluster file names another to ask."""
    lower, parts = heard.lower(), urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    otherwise = f"check the network, the proxy (HTTPS_PROXY) or the mirror ({field}), and run again"
    fix = next((fix for text, fix in HINTS if re.search(text, lower)), otherwise)
    fix += f" ({field})" if fix == _OPEN else ""
    trouble = next((text for text in SERVER if re.search(text, lower)), "")
    via = through("https" if parts.scheme == "oci" else parts.scheme, parts.hostname or "")
    return RefusedError(f"{name}{via and f' ({via})'}: {heard}", fix, f"{host} {trouble}" if trouble else "")
