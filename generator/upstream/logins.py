"""Credentials for registries, as Docker keeps them: in its file, or with the helpers that the file names."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from generator.errors import CommandError, UsageError
from generator.process import run
from generator.upstream.web import basic

HUB = "https://index.docker.io/v1/"
SECONDS = 30


class Logins:
    """What Docker's file says of credentials, by registry: the words of a Basic header, and the helper
    (`docker-credential-<name>`) that knows them; that of all others is at "". `silent`: why a helper gave none.
    """

    def __init__(self, written: Mapping[str, str], helpers: Mapping[str, str]) -> None:
        self._written = written
        self._helpers = helpers
        self._words: dict[str, str] = {}
        self._lock = Lock()
        self.silent: dict[str, str] = {}

    def words(self, host: str) -> str:
        """Return the words for a registry, "" where there are none; its helper is asked once."""
        key = HUB if host == "docker.io" else host
        with self._lock:
            if host not in self._words:
                written = self._written.get(key) or self._written.get(f"https://{host}", "")
                self._words[host] = self._helped(key, host) or written
            return self._words[host]

    def _helped(self, key: str, host: str) -> str:
        name = self._helpers.get(key) or self._helpers.get("")
        if not name:
            return ""
        program = f"docker-credential-{name}"
        try:
            said = json.loads(run([program, "get"], stdin=key, timeout=SECONDS))
            if said["Username"] != "<token>":
                return basic(said["Username"], said["Secret"])
            why = "it has an identity token, which gen cannot use"
        except UsageError as error:
            why = error.output if isinstance(error, CommandError) else str(error)
        except (ValueError, TypeError, KeyError):
            why = "it did not answer as Docker's helpers do"
        self.silent[host] = f"`{program}`, which config.json names, gave no credentials: {' '.join(why.split())}"
        return ""


def logins() -> Logins:
    """Read `config.json` in $DOCKER_CONFIG or ~/.docker. Raises UsageError where it cannot be read."""
    folder = os.environ.get("DOCKER_CONFIG")
    path = (Path(folder) if folder else Path.home() / ".docker") / "config.json"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Logins({}, {})
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    try:
        content = json.loads(text)
        written = {host: _words(entry) for host, entry in content.get("auths", {}).items()}
        helpers = {**content.get("credHelpers", {}), "": content.get("credsStore")}
        return Logins(written, helpers)
    except (ValueError, AttributeError, TypeError):
        reads = "gen reads `auths`, `credHelpers` and `credsStore` in it"
        raise UsageError(f"{path}: is not what `docker login` writes; {reads}") from None


def _words(entry: Mapping[str, str]) -> str:
    if entry.get("auth"):
        return entry["auth"]
    user, password = entry.get("username", ""), entry.get("password", "")
    return basic(user, password) if user or password else ""
