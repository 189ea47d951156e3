"""`gen init --ci`: what is written for CI, and what its owner still has to do."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from generator.cli.terminal import say
from generator.errors import UsageError
from generator.repository.ci_files import ALL, REQUIREMENT, ci_files, owners, owners_file, to_add, unowned
from generator.repository.forge_kinds import ForgeKind
from generator.repository.git_folder import locate


def jobs(root: Path, kind: ForgeKind, owned: Iterable[str], requirement: str | None) -> dict[str, bytes]:
    """Return the files for a kind of CI. Raises UsageError for an owner that is none, and where CI would not look."""
    place = locate(root.absolute())
    if place and place.prefix:
        raise UsageError(
            f"--ci: CI looks for its files at the top of the repository: gen init --ci {kind} -C {place.top}"
        )
    return ci_files(kind, requirement or REQUIREMENT, owners(owned), owners_file(root, kind))


def tell(root: Path, files: Mapping[str, bytes], written: Collection[str], asked: tuple[tuple[str, ...], bool]) -> None:
    """Say what stands already and what it lacks, and what nobody has said yet: `asked` are the owners that were given,
    and whether it was said what pip installs.
    """
    for path in sorted(files.keys() - written):
        standing = ""
        with suppress(OSError):
            standing = (root / path).read_text(encoding="utf-8", errors="replace")
        lacks = to_add(path, standing, files[path].decode())
        say(f"left alone: {path} is there{'; to add to it:' if lacks else ', and lacks nothing'}")
        for line in lacks.splitlines():
            say(f"  {line}".rstrip())
    owned, named = asked
    if any(path.endswith("CODEOWNERS") for path in written):
        _tell_unowned(unowned(owners(owned)))
    if not named and any(b"GEN: " in files[path] for path in files.keys() & written):
        say(f"name what pip installs, in GEN: it is {REQUIREMENT} yet, which is nowhere")


def _tell_unowned(nobody: Collection[str]) -> None:
    tiers = ", ".join(name for name in nobody if name != ALL)
    if tiers and ALL not in nobody:
        say(f"owners of their own have no {tiers}: those of `{ALL}` approve these, as their lines are comments")
    elif tiers:
        say(f"nobody approves {tiers} yet: name owners in CODEOWNERS, where these lines are comments")
    if ALL in nobody:
        say(
            "nobody approves cluster files, gen.lock, CI jobs and CODEOWNERS itself yet, so that whoever may push can "
            f"change them: --owner {ALL}=@OWNER, or the first line of CODEOWNERS, names somebody for all the rest"
        )
