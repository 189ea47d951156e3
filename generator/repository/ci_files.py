"""Files for the CI of GitHub, GitLab and Gitea, and who approves what there. They are written once."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from generator import __version__
from generator.components import CATALOGUE
from generator.components.component import Tier
from generator.errors import UsageError
from generator.repository.forge_kinds import ForgeKind
from generator.spec.near import suggest

REQUIREMENT = f"gen[rendered] @ git+https://git.example.org/platform/gen.git@v{__version__}"
"""What pip installs in CI as long as nobody says what: a place that cannot exist, never a name that a registry has."""

_JOBS: dict[ForgeKind, str] = {
    "github": ".github/workflows/gen.yaml",
    "gitlab": ".gitlab/gen.yml",
    "gitea": ".gitea/workflows/gen.yaml",
}
_OWNERS: dict[ForgeKind, tuple[str, ...]] = {
    "github": (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"),
    "gitlab": ("CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"),
    "gitea": ("CODEOWNERS", "docs/CODEOWNERS", ".gitea/CODEOWNERS"),
}
"""Where each kind looks for CODEOWNERS, in this order; it reads the first alone (docs.github.com "About code owners",
docs.gitlab.com/user/project/codeowners, docs.gitea.com/usage/code-owners).
"""
_BESIDE: dict[Tier, tuple[str, ...]] = {
    Tier.PLATFORM: ("clusters/*/bootstrap", "overlays/*/namespaces"),
    Tier.STORAGE: ("workflows",),
    Tier.GITOPS: ("clusters/*/argocd",),
}
"""What is generated beside the folders of components."""
GITLAB = ".gitlab-ci.yml"
INCLUDE = "include:\n  - local: .gitlab/gen.yml\n"
_HEADS: dict[ForgeKind, str] = {
    "github": (
        "# The last line that fits a file counts. Approvals are asked for where the branch's rules say `Require\n"
        "# review from Code Owners`. GitHub's page of this file tells which owners it does not know.\n"
    ),
    "gitlab": (
        "# Each section asks for an approval of its own (GitLab Premium), where the branch is protected with `Code\n"
        "# owner approval`.\n"
    ),
    "gitea": (
        "# Each line that fits a file asks its owners for a review; it holds up the merge where the branch is\n"
        "# protected with `Block merge on official review requests`. Paths are regular expressions.\n"
    ),
}
_OWNER = re.compile(r"@[\w.-]+(?:/[\w.-]+)*|[^@\s]+@[^@\s]+\.[^@\s]+")
ALL = "default"
Owners: TypeAlias = Mapping[str, tuple[str, ...]]


def owners(given: Iterable[str]) -> Owners:
    """Read `TIER=@OWNER`, each tier as often as it has owners. Raises UsageError for what is not so."""
    found: dict[str, tuple[str, ...]] = {}
    known = (*map(str, Tier), ALL)
    for text in given:
        tier, sign, owner = text.partition("=")
        if not sign or not _OWNER.fullmatch(owner):
            raise UsageError(f"--owner {text}: write it as TIER=@OWNER, as in storage=@lab/storage")
        if tier not in known:
            hint = suggest(tier, known, f"there are {', '.join(known)}")
            raise UsageError(f"--owner {text}: there is no tier `{tier}`; {hint}")
        found[tier] = (*found.get(tier, ()), owner)
    return found


def owners_file(root: Path, kind: ForgeKind) -> str:
    """Return the CODEOWNERS that is read: another one beside it would be passed over, or have this one passed over."""
    there = (path for path in _OWNERS[kind] if (root / path).exists())
    return next(there, f".{kind}/CODEOWNERS")


def ci_files(kind: ForgeKind, requirement: str, whose: Owners, approvals: str) -> dict[str, bytes]:
    """Return the files, by path: pip installs `requirement` there, `approvals` is where owners stand."""
    jobs = _JOBS[kind]
    text = (Path(__file__).parent / "ci" / f"{kind}.yaml").read_text(encoding="utf-8")
    files = {jobs: text.replace("REQUIREMENT", json.dumps(requirement)), approvals: code_owners(kind, whose)}
    if kind == "gitlab":
        files[GITLAB] = f"# What gen adds is in a file of its own; yours goes here.\n{INCLUDE}"
    return {path: content.encode() for path, content in files.items()}


def code_owners(kind: ForgeKind, whose: Owners) -> str:
    """Return who approves what: the folders of each tier's components, on every cluster."""
    lines = [
        "# Who approves what, by tier of components. Written once by `gen init`: yours from here on.\n",
        _HEADS[kind],
    ]
    lines += _everything(kind, whose)
    for tier in Tier:
        names = sorted(one.name for one in CATALOGUE.values() if one.tier == tier)
        lines += ["\n", *_section(kind, tier, names, whose.get(tier, ()))]
    return "".join(lines)


def _everything(kind: ForgeKind, whose: Owners) -> Iterator[str]:
    found = whose.get(ALL, ())
    pattern = ".*" if kind == "gitea" else "*"
    yield f"\n{pattern} {' '.join(found)}\n" if found else f"\n# {pattern} @OWNER: whoever approves all the rest\n"


def _section(kind: ForgeKind, tier: Tier, names: Iterable[str], found: tuple[str, ...]) -> Iterator[str]:
    mark, said = ("", " ".join(found)) if found else ("# ", "@OWNER")
    if kind == "gitlab":
        yield f"{mark}[{tier}] {said}\n"
        yield from (f"{mark}{path}\n" for path in _paths(kind, tier, names))
        return
    yield f"# {tier}\n"
    yield from (f"{mark}{path} {said}\n" for path in _paths(kind, tier, names))


def _paths(kind: ForgeKind, tier: Tier, names: Iterable[str]) -> Iterator[str]:
    """Yield the folders of a tier as each kind writes them."""
    for name in names:
        if kind == "gitea":
            yield f"(base|overlays/[^/]+)/{name}/.*"
        else:
            yield from (f"/base/{name}/", f"/overlays/*/{name}/")
    for folder in _BESIDE.get(tier, ()):
        yield f"{folder.replace('*', '[^/]+')}/.*" if kind == "gitea" else f"/{folder}/"


def unowned(whose: Owners) -> list[str]:
    """Return the tiers for which nobody was named."""
    return [name for name in (*map(str, Tier), ALL) if not whose.get(name)]


def to_add(path: str, standing: str, new: str) -> str:
    """Return what a file that is there lacks, for its owner to add; "" where it lacks nothing."""
    if path == GITLAB:
        return "" if ".gitlab/gen.yml" in standing else INCLUDE
    lines = set(standing.splitlines())
    if not path.endswith("CODEOWNERS"):
        return "" if standing == new else new
    missing = [line for line in new.splitlines() if line and not line.startswith("#") and line not in lines]
    return "".join(f"{line}\n" for line in missing)
