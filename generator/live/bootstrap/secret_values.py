"""Where the values of Secrets come from: files, the environment, a person at a terminal, chance."""

import base64
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from generator.components.component import Secret
from generator.errors import UsageError

REPOSITORY = ("argocd.argoproj.io/secret-type", "repository")
"""The label of the Secrets by which Argo CD reads Git."""
VARIABLES = {"username": "GEN_REPOSITORY_USERNAME", "password": "GEN_REPOSITORY_PASSWORD"}
KEY_FILE = "GEN_REPOSITORY_SSH_KEY_FILE"

Ask = Callable[[str], str]


class Values:
    """Gives the value of a Secret's key; the same one whenever it is asked again. `folder` holds files
    `<namespace>/<name>/<key>`; `ask` is None where nobody can be asked.
    """

    def __init__(self, folder: Path | None, environment: Mapping[str, str], ask: Ask | None = None) -> None:
        self.folder, self.environment, self.ask = folder, environment, ask
        self._known: dict[tuple[str, str], bytes] = {}

    def file(self, secret: Secret, key: str) -> str:
        """Name the file that a value is read from: of a copy that of what it is copied from."""
        return f"{origin(secret)}/{key}"

    def given(self, secret: Secret, key: str) -> bytes | None:
        """Return what a person gives, None where that is missing. Raises UsageError for a file that cannot be read."""
        if key in secret.known:
            return secret.known[key].encode()
        return (
            self._known.get((origin(secret), key))
            or self._from_file(secret, key)
            or self._from_environment(secret, key)
        )

    def asked(self, secret: Secret, key: str) -> bytes | None:
        """Return what is given, else what a person answers now, who may also name a file by `@FILE`."""
        found = self.given(secret, key)
        if found is None and self.ask:
            found = self._answered(self.ask(f"{secret.full_name} {key}"))
            if found:
                self._known[origin(secret), key] = found
        return found

    def _answered(self, answer: str) -> bytes | None:
        if not answer:
            self.ask = None  # who answers nothing wants to stop
            return None
        return _read(Path(answer[1:]).expanduser()) if answer.startswith("@") else answer.encode()

    def made(self, secret: Secret, key: str) -> bytes:
        """Return what is given, else random bytes in the form that the readers take."""
        found = self.given(secret, key)
        if found is None:
            found = self._known[origin(secret), key] = _chance(secret)
        return found

    def _from_file(self, secret: Secret, key: str) -> bytes | None:
        file = self.folder / self.file(secret, key) if self.folder else None
        return _read(file) if file and file.exists() else None

    def _from_environment(self, secret: Secret, key: str) -> bytes | None:
        name = variable(secret, key)
        value = self.environment.get(name)
        if not value:
            return None
        return _read(Path(value).expanduser()) if name == KEY_FILE else value.encode()


def _chance(secret: Secret) -> bytes:
    if secret.form == "hex":
        return secrets.token_hex(24).encode()
    return base64.b64encode(secrets.token_bytes(32))


def origin(secret: Secret) -> str:
    """Return the Secret, as `namespace/name`, that decides the values: itself, or what it is a copy of."""
    return secret.copy_of or secret.full_name


def variable(secret: Secret, key: str) -> str:
    """Return the variable that may give a value, "" where none does."""
    if secret.labels.get(REPOSITORY[0]) != REPOSITORY[1]:
        return ""
    return KEY_FILE if key == "sshPrivateKey" else VARIABLES.get(key, "")


def _read(file: Path) -> bytes | None:
    """Return what a file holds, None where that is nothing. The line end behind a single line is an editor's."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    single = content.count(b"\n") == 1 and content.endswith(b"\n")
    return (content.removesuffix(b"\n").removesuffix(b"\r") if single else content) or None
