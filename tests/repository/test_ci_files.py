"""Files for CI: who approves what, and what is told of files that are there."""

import re
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
import yaml
from reference import ROOT

from generator.cli import run
from generator.components import CATALOGUE
from generator.components.component import Tier
from generator.repository.ci_files import Owners, ci_files, code_owners, to_add, unowned
from generator.repository.forge_kinds import FORGE_KINDS, ForgeKind

WHOSE: Owners = {"storage": ("@lab/storage",), "network": ("@ann", "@bob"), "default": ("@lab/platform",)}
PLACES = {"github": ".github/CODEOWNERS", "gitlab": ".gitlab/CODEOWNERS", "gitea": ".gitea/CODEOWNERS"}


@cache
def owners_lines(kind: ForgeKind, whose: tuple[tuple[str, tuple[str, ...]], ...]) -> list[str]:
    return code_owners(kind, dict(whose)).splitlines()


def approving(kind: ForgeKind, path: str, whose: Owners = WHOSE) -> set[str]:
    """Return who approves a file, as each server reads its form.

    GitHub: the last line that fits (docs.github.com, "About code owners"). GitLab: the last line of each section
    (docs.gitlab.com/user/project/codeowners/reference). Gitea: every line, as a regular expression of the whole path
    (GetCodeOwnersFromContent in its models/issues/pull.go).
    """
    found: dict[str, list[str]] = {}
    section, owners_of_section = "", [""]
    for line in owners_lines(kind, tuple(whose.items())):
        if not line.strip() or line.startswith("#"):
            continue
        if kind == "gitlab" and line.startswith("["):
            section, *owners_of_section = re.findall(r"^\[.+\]|@\S+", line)
            continue
        pattern, *names = line.split()
        if kind == "gitea":
            if re.fullmatch(pattern, path):
                found.setdefault(line, names)
        elif pattern == "*" or fnmatch(f"/{path}", f"{pattern}*"):
            found[section] = names or owners_of_section
    return {name for names in found.values() for name in names}


@pytest.mark.parametrize("kind", FORGE_KINDS)
def test_storage_is_approved_by_its_owners(kind: ForgeKind) -> None:
    for name in ("minio", "ceph-cluster", "rook-ceph"):
        assert CATALOGUE[name].tier == Tier.STORAGE
        for path in (
            f"overlays/ml50/{name}/objects.yaml",
            f"overlays/ml50/{name}/custom/a.yaml",
            f"base/{name}/v1/a.yaml",
        ):
            assert "@lab/storage" in approving(kind, path)
    assert "@lab/storage" not in approving(kind, "overlays/ml50/cilium/values.yaml")
    assert {"@ann", "@bob"} <= approving(kind, "overlays/ml50/cilium/values.yaml")
    for path in ("clusters/ml50/cluster.yaml", "README.md", "gen.lock", PLACES[kind]):
        assert approving(kind, path) == {"@lab/platform"}


@pytest.mark.parametrize("kind", FORGE_KINDS)
def test_all_that_is_generated_has_a_tier(kind: ForgeKind) -> None:
    """Without an owner for all the rest too."""
    every: dict[str, tuple[str, ...]] = dict.fromkeys(map(str, Tier), ("@all",))
    for top in ("base", "overlays", "workflows", "clusters/ml50/argocd", "clusters/ml50/bootstrap"):
        for file in (ROOT / top).rglob("*.yaml"):
            assert approving(kind, file.relative_to(ROOT).as_posix(), every) == {"@all"}, file
    assert approving(kind, "clusters/ml50/cluster.yaml", every) == set()


@pytest.mark.parametrize("kind", FORGE_KINDS)
def test_every_component_stands_with_its_tier(kind: ForgeKind) -> None:
    every: dict[str, tuple[str, ...]] = dict.fromkeys(map(str, Tier), ("@all",))
    for name in CATALOGUE:
        assert re.search(rf"/{name}/", code_owners(kind, every))
    assert "@OWNER" not in code_owners(kind, {**every, "default": ("@all",)})


@pytest.mark.parametrize("kind", FORGE_KINDS)
def test_a_tier_without_owners_is_a_comment(kind: ForgeKind) -> None:
    lines = code_owners(kind, {}).splitlines()
    assert all(line.startswith("#") for line in lines if line)
    assert unowned({}) == [*map(str, Tier), "default"]


@pytest.mark.parametrize("kind", FORGE_KINDS)
def test_the_files_can_be_read_and_name_what_pip_installs(kind: ForgeKind) -> None:
    odd = 'gen @ git+https://x.example.org/"a": {b}#c'
    files = ci_files(kind, odd, {}, PLACES[kind])
    assert PLACES[kind] in files
    texts = [content.decode() for path, content in files.items() if path.endswith(("yaml", "yml"))]
    assert any(f"'GEN': {odd!r}" in repr(yaml.load(text, yaml.CSafeLoader)) for text in texts)
    assert not any("REQUIREMENT" in text for text in texts)


def gen(captured: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    captured.readouterr()
    code = run(["init", *words])
    return code, "".join(captured.readouterr())


@pytest.mark.parametrize("kind", FORGE_KINDS)
def test_what_is_there_is_never_overwritten(
    kind: ForgeKind, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("-C", str(tmp_path), "--ci", kind, "--owner", "storage=@lab/storage")
    own = "* @me\n/base/minio/ @lab/storage\n"
    (tmp_path / PLACES[kind]).parent.mkdir()
    (tmp_path / PLACES[kind]).write_text(own)
    code, said = gen(capsys, *words)
    assert code == 0
    assert (tmp_path / PLACES[kind]).read_text() == own
    assert f"left alone: {PLACES[kind]} is there; to add to it:" in said
    assert ("/ceph-cluster/" in said, "  /base/minio/ @lab/storage\n" in said) == (True, False)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    code, said = gen(capsys, *words)
    assert (code, "wrote" in said) == (0, False)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("kind", "standing"),
    [("github", "CODEOWNERS"), ("github", "docs/CODEOWNERS"), ("gitlab", "CODEOWNERS"), ("gitea", "docs/CODEOWNERS")],
)
def test_a_second_file_would_pass_over_the_first_or_be_passed_over(
    kind: ForgeKind, standing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / standing).parent.mkdir(exist_ok=True)
    (tmp_path / standing).write_text("* @me\n")
    code, said = gen(capsys, "-C", str(tmp_path), "--ci", kind, "--owner", "storage=@lab/storage")
    assert code == 0
    assert not (tmp_path / PLACES[kind]).exists()
    assert f"left alone: {standing} is there; to add to it:" in said
    assert "minio/" in said


def test_what_is_nobody_s_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word for tier in Tier for word in ("--owner", f"{tier}=@lab/all")]
    _, said = gen(capsys, "-C", str(tmp_path), "--ci", "github", *words)
    assert "nobody approves cluster files, gen.lock, CI jobs and CODEOWNERS itself" in said
    assert "nobody approves network" not in said
    (tmp_path / PLACES["github"]).unlink()
    _, said = gen(capsys, "-C", str(tmp_path), "--ci", "github", "--owner", "default=@lab/all")
    assert "nobody approves" not in said
    assert "owners of their own have no network, platform," in said
    (tmp_path / PLACES["github"]).unlink()
    _, said = gen(capsys, "-C", str(tmp_path), "--ci", "github")
    assert "nobody approves network, platform," in said
    assert "nobody approves cluster files, gen.lock" in said


def test_gitlab_s_own_file_gets_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text("build:\n  script: [make]\n")
    _, said = gen(capsys, "-C", str(tmp_path), "--ci", "gitlab")
    assert "to add to it:\n  include:\n    - local: .gitlab/gen.yml\n" in said
    assert to_add(".gitlab-ci.yml", "include: {local: .gitlab/gen.yml}", "") == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name the cluster: gen init NAME"),
        (("lab", "--owner", "storage=@a"), "--owner and --gen need --ci"),
        (("--ci", "github", "--owner", "storage"), "write it as TIER=@OWNER"),
        (("--ci", "github", "--owner", "storage=lab\n* @evil"), "write it as TIER=@OWNER"),
        (("--ci", "github", "--owner", "storag=@a"), "did you mean storage?"),
        (("--ci", "github", "--owner", "cheese=@a"), "there are network, platform, storage"),
        (("--from", "nodes.csv", "--ci", "github"), "name the cluster as well"),
        (("--ci", "jenkins"), "'jenkins' is not one of"),
    ],
)
def test_wrong_uses_are_one_sentence_and_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    code, said = gen(capsys, "-C", str(tmp_path), *words)
    assert code == 2
    assert told in said
    assert list(tmp_path.iterdir()) == []


def test_ci_and_a_first_cluster_in_one_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = gen(capsys, "lab", "-C", str(tmp_path), "--ci", "gitea", "--gen", "gen @ git+https://git.lab/gen@v1")
    assert code == 0
    assert (tmp_path / "clusters/lab/cluster.yaml").exists()
    assert "gen @ git+https://git.lab/gen@v1" in (tmp_path / ".gitea/workflows/gen.yaml").read_text()
    assert "name what pip installs" not in said
    assert "nobody approves network" in said


@pytest.mark.parametrize("standing", [False, True])
def test_nobody_need_say_what_pip_installs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, standing: bool
) -> None:
    if standing:
        (tmp_path / ".github/workflows").mkdir(parents=True)
        (tmp_path / ".github/workflows/gen.yaml").write_text("name: mine\n")
    code, said = gen(capsys, "lab", "-C", str(tmp_path), "--ci", "github")
    assert code == 0
    assert ("name what pip installs, in GEN" in said) == (not standing)
    assert "next: edit clusters/lab/cluster.yaml" in said


def test_ci_files_belong_to_the_top_of_a_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import subprocess

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "lab").mkdir()
    code, said = gen(capsys, "-C", str(tmp_path / "lab"), "--ci", "github")
    assert code == 2
    assert f"gen init --ci github -C {tmp_path}" in said
