"""Where a repository is hosted: GitHub, GitLab or Gitea, and the addresses there."""

import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from msgspec import Struct

from generator.errors import UsageError
from generator.repository.forge_kinds import FORGE_KINDS, ForgeKind, forge_kind

SETTING = "gen.forge"
_SCP = re.compile(r"(?:[^@/\s]+@)?([\w.-]+):(?!/)(.+)")
_KNOWN: dict[str, ForgeKind] = {"github.com": "github", "gitlab.com": "gitlab", "codeberg.org": "gitea"}
_NAMES: dict[str, ForgeKind] = {"github": "github", "gitlab": "gitlab", "gitea": "gitea", "forgejo": "gitea"}
# In the order in which each one's own program looks.
_TOKENS: dict[ForgeKind, tuple[str, ...]] = {
    "github": ("GH_TOKEN", "GITHUB_TOKEN"),
    "gitlab": ("GITLAB_TOKEN",),
    "gitea": ("GITEA_TOKEN",),
}


class Forge(Struct, frozen=True):
    """One repository where people review changes: its kind, `web`, the address of the server, and `path`, which is
    OWNER/REPOSITORY there. `trusted`: it is known what server this is, by more than its name, so that a token may be
    sent there.
    """

    kind: ForgeKind
    web: str
    path: str
    trusted: bool

    @property
    def api(self) -> str:
        """The address of its API."""
        if self.web == "https://github.com":
            return "https://api.github.com"
        return f"{self.web}/api/{ {'github': 'v3', 'gitlab': 'v4', 'gitea': 'v1'}[self.kind] }"

    def compare(self, base: str, branch: str) -> str:
        """Return the address of the page that shows what a branch changes, and offers a pull request for it."""
        between = f"compare/{quote(base, safe='/')}...{quote(branch, safe='/')}"
        return f"{self.web}/{self.path}/{'-/' if self.kind == 'gitlab' else ''}{between}"


def forge(address: str, setting: str, env: Mapping[str, str]) -> Forge | None:
    """Return where a remote's address leads, None for a folder, or where nobody knows. `setting` is Git's `gen.forge`:
    a kind, and the server's address where the remote's does not tell it, as in `gitea https://git.example.org:3000`.
    Raises UsageError for a setting that is not so.
    """
    found = _parts(address)
    if found is None:
        return None
    web, path = found
    kind, _, told = setting.partition(" ")
    if setting:
        known = forge_kind(kind)
        if known is None or (told and not is_web(told)):
            raise UsageError(
                f"{SETTING}: `{setting}` is none of {', '.join(FORGE_KINDS)}, with the server's address behind it "
                f"where that is needed; `git config {SETTING} 'gitea https://git.example.org'`"
            )
        web = told.strip().rstrip("/") or web
        below = urlsplit(web).path.strip("/")
        return Forge(known, web, path.removeprefix(f"{below}/"), trusted=True)
    return _by_host(web, path, env)


def is_folder(address: str) -> bool:
    """Tell whether a remote is no server: it has no page, whatever is said of it."""
    return _parts(address) is None


def is_web(address: str) -> bool:
    """Tell whether this is the address of a web server."""
    try:
        parts = urlsplit(address.strip())
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _by_host(web: str, path: str, env: Mapping[str, str]) -> Forge | None:
    host = urlsplit(web).hostname or ""
    if (known := _KNOWN.get(host)) or (known := _own_ci(web, env)):
        return Forge(known, web, path, trusted=True)
    named = next((kind for name, kind in _NAMES.items() if name in host), None)
    return Forge(named, web, path, trusted=False) if named else None


def _own_ci(web: str, env: Mapping[str, str]) -> ForgeKind | None:
    """Return what the server is whose job this is, where the remote is that server."""
    if env.get("CI_SERVER_URL", "").rstrip("/") == web:
        return "gitlab"
    if env.get("GITHUB_SERVER_URL", "").rstrip("/") == web:
        return "gitea" if env.get("GITEA_ACTIONS") else "github"
    return None


def _parts(address: str) -> tuple[str, str] | None:
    """Return a server's web address and the path of the repository there, without user, password and `.git`."""
    try:
        parts, number = urlsplit(address), urlsplit(address).port
    except ValueError:
        # Git takes addresses that are none, as `http://[host/x`, and fails with them later, or rewrites them.
        return None
    if parts.scheme in {"http", "https", "ssh", "git"} and parts.hostname:
        port = f":{number}" if number and parts.scheme in {"http", "https"} else ""
        scheme = "http" if parts.scheme == "http" else "https"
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        web, path = f"{scheme}://{host}{port}", parts.path
    elif not parts.netloc and (found := _SCP.fullmatch(address)) and parts.scheme != "file":
        web, path = f"https://{found[1]}", found[2]
    else:
        return None
    path = path.strip("/").removesuffix(".git")
    return (web, path) if "/" in path else None


def token(kind: ForgeKind, env: Mapping[str, str]) -> tuple[str, str]:
    """Return the name of the variable with a token for such a server, and the token; "" twice where there is none."""
    return next(((name, env[name].strip()) for name in _TOKENS[kind] if env.get(name, "").strip()), ("", ""))


def token_names(kind: ForgeKind) -> str:
    """Return the variables that may hold a token."""
    return " or ".join(_TOKENS[kind])
