"""What to say of a download that failed: the server's words, the proxy between, and the smallest fix."""

import re
from urllib.parse import urlsplit

from generator.upstream.findings import RefusedError
from generator.upstream.web import through

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
