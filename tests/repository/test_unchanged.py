"""Clusters of which nothing changed are not rendered again, and nobody can tell but by the time it takes."""

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from generator.cli import rendering as verb
from generator.cli import run
from generator.cli.check import NOTHING, RENDER
from generator.repository import unchanged
from generator.repository.cluster_files import load
from generator.repository.render import render
from generator.repository.unchanged import Look

ROOT = Path(__file__).parent.parent.parent
SOURCE = (ROOT / "clusters/a30-bench/cluster.yaml").read_text()
TICK = 20_000_000
"""Time enough between two changes where these tests run, in nanoseconds."""


def cluster(name: str, number: int) -> str:
    """Return the small reference cluster under another name, in a network of its own."""
    return SOURCE.replace("a30", name).replace(f"{name}-bench", name).replace("129.254.202", f"10.9.{number}")


def git(root: Path, *words: str) -> None:
    somebody = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.hooksPath=/dev/null"]
    subprocess.run(["git", *somebody, *words], cwd=root, check=True, capture_output=True)


def settle() -> None:
    time.sleep(2 * TICK / 1e9)


@pytest.fixture(scope="module", autouse=True)
def _quickly() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unchanged, "SETTLED", TICK)
        yield


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three clusters, rendered and committed, with a branch on which one differs."""
    root = tmp_path_factory.mktemp("template") / "repository"
    for number, name in enumerate(("one", "three", "two")):
        folder = root / "clusters" / name
        folder.mkdir(parents=True)
        (folder / "cluster.yaml").write_text(cluster(name, number))
    git(root.parent, "init", "-q", "-b", "main", str(root))
    assert run(["render", "-C", str(root)]) == 0
    git(root, "add", "--all")
    git(root, "commit", "-qm", "rendered")
    git(root, "checkout", "-qb", "other")
    change(root / "clusters/two/cluster.yaml", "retention: 62d", "retention: 63d")
    assert run(["render", "-C", str(root)]) == 0
    git(root, "commit", "-qam", "other")
    git(root, "checkout", "-q", "main")
    return root


@pytest.fixture
def repository(template: Path, tmp_path: Path) -> Path:
    return known(template, tmp_path / "repository")


def known(template: Path, root: Path) -> Path:
    """Copy a repository and render it, so that all of it is known to be unchanged."""
    shutil.copytree(template, root, symlinks=True)
    git(root, "update-index", "--refresh")  # Git knows the files of the copy by their times as well
    settle()
    assert run(["render", "-C", str(root)]) == 0
    assert whole(root)
    return root


def whole(root: Path) -> bool:
    """Tell whether nothing differs from what the last render saw."""
    look = Look.at(root)
    return look is not None and look.whole


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    if old in text:
        file.write_text(text.replace(old, new))


def record(root: Path) -> Path:
    return root / ".git/gen/unchanged.json"


def state(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return all that stands in a repository, folders too."""
    paths = [path for path in root.rglob("*") if ".git" not in path.relative_to(root).parts]
    return {
        path.relative_to(root).as_posix(): (
            path.lstat().st_mode,
            bytes(path.readlink()) if path.is_symlink() else b"" if path.is_dir() else path.read_bytes(),
        )
        for path in paths
    }


def rendered(root: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, Any, str]:
    """Render and return the exit code and what is told, less the seconds and the way to the repository."""
    capsys.readouterr()
    code = run(["render", "-C", str(root), "--output", "json", *more])
    said = capsys.readouterr()
    told = json.loads(said.out) if said.out else {}
    told.pop("seconds", None)
    return code, told, said.err.replace(str(root), "")


def apart(root: Path) -> list[str]:
    """Return the clusters that are not rendered anew."""
    look = Look.at(root)
    assert look
    return sorted(look.unchanged(["one", "three", "two"]))


def generated(root: Path, data: st.DataObject) -> Path:
    tops = [root / top for top in ("base", "overlays", "clusters", "schemas")]
    files = [path for top in tops for path in top.rglob("*") if path.is_file() and path.name != "cluster.yaml"]
    return data.draw(st.sampled_from([*sorted(files), root / "gen.lock", root / ".editorconfig"]))


def a_cluster(root: Path, data: st.DataObject) -> Path:
    return root / "clusters" / data.draw(st.sampled_from(["one", "three", "two"])) / "cluster.yaml"


def replaced(old: str, *news: str) -> Callable[[Path, st.DataObject], None]:
    def edit(root: Path, data: st.DataObject) -> None:
        file = a_cluster(root, data)
        if file.is_file():
            change(file, old, data.draw(st.sampled_from(news)))

    return edit


def hand_edit(root: Path, data: st.DataObject) -> None:
    file = generated(root, data)
    if file.is_file():
        file.write_bytes(file.read_bytes() + b"# by hand\n")


def sly_edit(root: Path, data: st.DataObject) -> None:
    file = generated(root, data)
    if file.is_file() and file.stat().st_size:
        sly(file)


def sly(file: Path) -> None:
    """Change a byte, then put the times back as far as anybody can."""
    before, content = file.stat(), file.read_bytes()
    with file.open("r+b") as opened:
        opened.write(bytes([content[0] ^ 1]))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def remove(root: Path, data: st.DataObject) -> None:
    file = generated(root, data)
    if data.draw(st.booleans()) and file.parent != root:
        shutil.rmtree(file.parent)
    else:
        file.unlink(missing_ok=True)


def stray(root: Path, data: st.DataObject) -> None:
    names = ["stray.yaml", ".gen-7~", "new/deep.yaml", "custom/mine.yaml"]
    file = generated(root, data).parent / data.draw(st.sampled_from(names))
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text("stray: true\n")


def empty_folder(root: Path, data: st.DataObject) -> None:
    (generated(root, data).parent / "empty").mkdir(exist_ok=True)


def no_run_bit(root: Path, data: st.DataObject) -> None:
    scripts = sorted(root.glob("clusters/*/bootstrap/**/*.sh"))
    if scripts:
        data.draw(st.sampled_from(scripts)).chmod(0o644)


def custom(root: Path, data: st.DataObject) -> None:
    folders = [*root.glob("overlays/*/*/custom"), *root.glob("overlays/*")]
    folder = data.draw(st.sampled_from(sorted(folders)))
    target = folder if folder.name == "custom" else folder / "nothing/custom"
    target.mkdir(parents=True, exist_ok=True)
    (target / "kustomization.yaml").write_text("resources: [mine.yaml]\n")


def remove_cluster(root: Path, data: st.DataObject) -> None:
    file = a_cluster(root, data)
    if len([*root.glob("clusters/*/cluster.yaml")]) > 1:
        if data.draw(st.booleans()):
            file.unlink(missing_ok=True)
        else:
            shutil.rmtree(file.parent, ignore_errors=True)


def add_cluster(root: Path, _: st.DataObject) -> None:
    (root / "clusters/four").mkdir(exist_ok=True)
    (root / "clusters/four/cluster.yaml").write_text(cluster("four", 7))


def link(root: Path, data: st.DataObject) -> None:
    """Put a link in the place of a cluster file, whose target is then changed."""
    file, target = a_cluster(root, data), root / "elsewhere.yaml"
    if target.exists():
        change(target, "retention: 62d", "retention: 67d")
    elif file.is_file():
        shutil.move(file, target)
        file.symlink_to(os.path.relpath(target, file.parent))


def another_commit(root: Path, data: st.DataObject) -> None:
    git(root, "checkout", "-qf", data.draw(st.sampled_from(["main", "other"])))


def commit(root: Path, _: st.DataObject) -> None:
    git(root, "add", "--all")
    git(root, "commit", "-q", "--allow-empty", "-m", "a")


def spoil(root: Path, data: st.DataObject) -> None:
    file = record(root)
    content = file.read_bytes() if file.exists() else b""
    spoilt = data.draw(st.sampled_from([b"", b"{}", b"[1]", b"\xff", content[: len(content) // 2]]))
    file.write_bytes(spoilt)


def nothing(_root: Path, _data: st.DataObject) -> None:
    """Leave all as it is."""


EDITS = [
    replaced("retention: 62d", "retention: 64d", "retention: thirty"),
    replaced("highAvailability: false", "highAvailability: true"),
    replaced("scratch: {storageClass: scratch-nvme}", "scratch: {storageClass: scratch-ssd}"),
    replaced("10.9.0.", "10.9.1.", "10.9.2."),
    replaced("10.9.1.25", "10.9.2.25"),
    replaced("clusters.git", "others.git"),
    replaced("domain: two.example", "domain: one.example"),
    hand_edit, sly_edit, remove, stray, empty_folder, no_run_bit, custom, remove_cluster, add_cluster, link,
    another_commit, commit, spoil, nothing,
]  # fmt: skip


@settings(deadline=None, max_examples=5, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_whatever_is_edited_a_render_does_the_same_with_the_record_and_without(
    template: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("edited")
    root, other = known(template, folder / "repository"), folder / "other"
    for edit in data.draw(st.lists(st.sampled_from(EDITS), min_size=1, max_size=4)):
        edit(root, data)
        for _ in range(data.draw(st.integers(1, 2))):
            shutil.copytree(root, other, symlinks=True)
            record(other).unlink(missing_ok=True)
            assert rendered(root, capsys) == rendered(other, capsys)
            assert state(root) == state(other)
            shutil.rmtree(other)
            settle()
    shutil.rmtree(folder)


OTHERS, ALL = ["one", "three"], ["one", "three", "two"]
NOTICED: list[tuple[Callable[[Path], object], list[str]]] = [
    (lambda root: sly(root / "clusters/two/cluster.yaml"), OTHERS),
    (lambda root: sly(root / "clusters/two/bootstrap/secrets.yaml"), OTHERS),
    (lambda root: sly(root / "overlays/two/calico/custom/kustomization.yaml"), OTHERS),
    (lambda root: (root / "overlays/two/calico/kustomization.yaml").unlink(), OTHERS),
    (lambda root: (root / "overlays/two/calico/kustomization.yaml").chmod(0o600), OTHERS),
    (lambda root: (root / "overlays/two/calico/empty").mkdir(), OTHERS),
    (lambda root: (root / "clusters/two/stray").touch(), OTHERS),
    (lambda root: sly(next(root.glob("base/calico/*/*.yaml"))), []),
    (lambda root: next(root.glob("base/calico/*/*.yaml")).unlink(), []),
    (lambda root: sly(root / "gen.lock"), []),
    (lambda root: sly(root / "schemas/cluster.schema.json"), []),
    (lambda root: (root / "base/stray").mkdir(), ALL),
    (lambda root: (root / "overlays/gone").mkdir(), ALL),
    (lambda root: (root / ".editorconfig").unlink(), ALL),
    (lambda root: (root / ".gen-1~").touch(), ALL),
    (lambda root: record(root).write_bytes(record(root).read_bytes()[:-9]), []),
    (lambda root: record(root).write_text("[]"), []),
    (lambda root: record(root).write_text('{"program": {}, "seen": {}, "clusters": {}}'), []),
]


def test_every_change_is_noticed_where_it_is(repository: Path) -> None:
    for number, (edit, left) in enumerate(NOTICED):
        assert whole(repository)
        edit(repository)
        assert (number, whole(repository), apart(repository)) == (number, False, left)
        # Git itself would not see a sly edit within the second in which it looked last: it is to look at all.
        git(repository, "read-tree", "HEAD")
        git(repository, "checkout", "-qf", ".")
        git(repository, "clean", "-fdqx")
        settle()
        assert run(["render", "-C", str(repository)]) == 0


def test_what_clusters_share_stays_for_those_that_are_not_rendered(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the only cluster that is rendered does not need it any more, and a stray file lies beside it."""
    file = repository / "clusters/two/cluster.yaml"
    file.write_text(file.read_text().replace("cni: calico", "cni: cilium"))
    (repository / "base/calico/stray.yaml").touch()
    shutil.copytree(repository, tmp_path / "other")
    record(tmp_path / "other").unlink()
    assert apart(repository) == ["one", "three"]
    told = rendered(repository, capsys)
    assert told == rendered(tmp_path / "other", capsys)
    changes = {each["path"]: each["kind"] for each in told[1]["changes"]}
    assert {path for path in changes if path.startswith("base/calico")} == {"base/calico/stray.yaml"}
    assert state(repository) == state(tmp_path / "other")


def test_only_what_changed_is_rendered_and_at_last_nothing(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    change(repository / "clusters/two/cluster.yaml", "retention: 62d", "retention: 64d")
    capsys.readouterr()
    for last in ("1 changed", "nothing to change"):
        assert run(["render", "-C", str(repository)]) == 0
        said = capsys.readouterr().out
        assert "one: 21 components, unchanged since the last render\n" in said
        assert "two: 21 components in 0." in said
        assert last in said
        settle()
    monkeypatch.setattr(verb, "_loaded", None)
    assert run(["render", "-C", str(repository)]) == 0
    assert "two: 21 components, unchanged since the last render\n" in capsys.readouterr().out


def test_where_nothing_changed_nothing_that_renders_is_even_imported(repository: Path) -> None:
    program = (
        "import sys; from generator.cli import run; run(['render']);"
        "print([name for name in ('checks', 'components', 'edits') if f'generator.{name}' in sys.modules])"
    )
    assert by_program(repository, program).endswith("\n[]\n")


def by_program(root: Path, program: str, python_path: Path = ROOT) -> str:
    """Run a program of Python in a repository and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(python_path)}
    words = [sys.executable, "-P", "-c", program]
    return subprocess.run(words, cwd=root, check=True, env=environment, capture_output=True, text=True).stdout


@pytest.mark.parametrize("option", ["--check", "--cluster=one", "--discard=base"])
def test_who_asks_for_more_gets_all_rendered(repository: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    capsys.readouterr()
    assert run(["render", "-C", str(repository), option]) == 0
    assert "unchanged since" not in capsys.readouterr().out


def test_what_changes_while_it_is_read_is_read_again(repository: Path) -> None:
    file = repository / "clusters/two/cluster.yaml"
    record(repository).unlink()
    look = Look.at(repository)
    assert look
    outcome = render(repository, load(repository), dry_run=True, waiting=print)
    change(file, "retention: 62d", "retention: 64d")
    look.remember(outcome, [])
    assert apart(repository) == ["one", "three"]


def test_a_file_of_this_moment_is_not_trusted(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(repository / "overlays/two/calico/kustomization.yaml")
    assert apart(repository) == ["one", "three"]
    settle()
    with monkeypatch.context() as patch:
        patch.setattr(unchanged, "_program", dict)
        # The file changed last of all, so that only it is too new.
        newest = max(path.lstat().st_ctime_ns for path in repository.rglob("overlays/two/**/*"))
        patch.setattr(unchanged, "SETTLED", time.time_ns() - newest)
        patch.setattr(time, "time_ns", lambda: newest + unchanged.SETTLED)
        assert run(["render", "-C", str(repository)]) == 0
        assert apart(repository) == ["one", "three"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("overlays/two/calico/kustomization.yaml", "to drop it: run again with"),
        ("overlays/two/cilium/custom/mine.yaml", "nothing uses it any more: two has no cilium"),
    ],
)
def test_what_a_render_has_to_tell_it_tells_each_time(
    repository: Path, capsys: pytest.CaptureFixture[str], path: str, words: str
) -> None:
    file = repository / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("a: b\n")
    git(repository, "add", "--all")
    git(repository, "commit", "-qm", "by hand")
    settle()
    for _ in range(3):
        capsys.readouterr()
        run(["render", "-C", str(repository)])
        assert words in capsys.readouterr().err


def test_a_finding_about_several_clusters_is_told_as_if_all_were_rendered(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(repository / "clusters/one/cluster.yaml", "clusters.git", "others.git")
    assert apart(repository) == ["three", "two"]
    capsys.readouterr()
    assert run(["render", "-C", str(repository)]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "GEN-FLEET-007" in line]
    assert [line.split("/")[1] for line in told] == ["three", "two"]


def test_another_gen_renders_all(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert apart(repository) == ["one", "three", "two"]
    monkeypatch.setattr(unchanged, "__version__", "another")
    assert apart(repository) == []


def test_an_edited_program_renders_all(repository: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "generator", tmp_path / "generator")
    settle()

    program = "from generator.cli import run; from generator.repository import unchanged;"
    program += f"unchanged.SETTLED = {TICK}; run(['render'])"
    assert "unchanged since" not in by_program(repository, program, tmp_path)
    assert "unchanged since" in by_program(repository, program, tmp_path)
    change(tmp_path / "generator/components/metrics_server.py", '"""', '"""A')
    assert "unchanged since" not in by_program(repository, program, tmp_path)


def test_a_waiver_may_end_any_day(repository: Path) -> None:
    file = repository / "clusters/one/cluster.yaml"
    waiver = '{code: GEN-POD-001, reason: until the upgrade, owner: me, expires: "2099-01-31"}'
    file.write_text(f"{file.read_text().rstrip()}\n  waivers: [{waiver}]\n")
    for _ in range(3):
        assert run(["render", "-C", str(repository)]) == 0
        settle()
    assert apart(repository) == ["three", "two"]


def test_a_folder_of_ones_own_is_looked_at_each_time(repository: Path) -> None:
    file = repository / "clusters/one/cluster.yaml"
    file.write_text(f"{file.read_text().rstrip()}\n  extras: {{tools: {{namespace: tools, folder: apps}}}}\n")
    (repository / "apps").mkdir()
    (repository / "apps/kustomization.yaml").write_text("resources: []\n")
    for _ in range(3):
        assert run(["render", "-C", str(repository)]) == 0
        settle()
    assert apart(repository) == ["three", "two"]
    (repository / "apps/kustomization.yaml").unlink()
    assert run(["render", "-C", str(repository)]) == 1


def test_two_at_once_leave_what_is_right(repository: Path) -> None:
    file = repository / "clusters/two/cluster.yaml"
    for days in range(31, 34):
        change(file, f"retention: {days - 1}d", f"retention: {days}d")
        words = [sys.executable, "-P", "-m", "generator", "render"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        both = [subprocess.Popen(words, cwd=repository, env=environment, stdout=subprocess.DEVNULL) for _ in range(2)]
        assert [one.wait() for one in both] == [0, 0]
        assert run(["render", "-C", str(repository), "--check"]) == 0


@pytest.mark.parametrize("git_folder", ["none", "closed"])
def test_without_a_record_all_is_rendered(
    template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], git_folder: str
) -> None:
    root = tmp_path / "repository"
    shutil.copytree(template, root)
    if git_folder == "none":
        shutil.rmtree(root / ".git")
    else:
        (root / ".git/gen/unchanged.json").unlink(missing_ok=True)
        (root / ".git/gen/unchanged.json").mkdir()
    settle()
    for _ in range(2):
        code, told, said = rendered(root, capsys)
        assert (code, told["changes"], "unchanged" in said) == (0, [], False)
    look = Look.at(root)
    assert not look or not look.unchanged(["one"])


def test_each_render_counts_the_same_files(template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first writes them all, those that are made once too; then all are rendered, some of them, and none."""
    root = tmp_path / "new"
    git(tmp_path, "init", "-q", str(root))
    shutil.copytree(template / "clusters", root / "clusters", ignore=shutil.ignore_patterns("argocd", "bootstrap"))
    counts = []
    for step in ("first", "check", "again", "one", "none"):
        if step == "one":
            os.utime(root / "clusters/two/cluster.yaml")
        if step != "check":
            settle()
        _, told, _ = rendered(root, capsys, *(["--check"] if step == "check" else []))
        counts.append(len(told["changes"]) + told["unchanged"])
    assert whole(root)
    assert set(counts) == {len([path for path in root.glob("**/*") if path.is_file() and ".git" not in path.parts]) - 3}


def next_of(root: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """Return the last line of `gen check`."""
    capsys.readouterr()
    assert run(["check", "-C", str(root), *more]) == 0
    return capsys.readouterr().out.splitlines()[-1]


def test_a_check_tells_what_comes_next(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert next_of(repository, capsys) == NOTHING
    change(repository / "clusters/two/cluster.yaml", "retention: 62d", "retention: 65d")
    assert next_of(repository, capsys) == RENDER
    assert run(["render", "-C", str(repository)]) == 0
    assert next_of(repository, capsys) == NOTHING
    git(repository, "add", "--all")
    git(repository, "commit", "-qm", "rendered again")
    assert next_of(repository, capsys) == NOTHING
    file = repository / "overlays/two/kueue/kustomization.yaml"
    text = file.read_text()
    file.write_text(f"{text}# mine\n")
    assert next_of(repository, capsys) == RENDER
    assert run(["render", "-C", str(repository)]) == 1
    assert next_of(repository, capsys) == "next: what the last render refused; `gen render` tells it again"
    file.write_text(text)
    assert next_of(repository, capsys) == NOTHING


def test_another_gen_asks_the_last_render_nothing(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert next_of(repository, capsys) == NOTHING
    for program, answer in ((unchanged._program(), "nothing"), ({"another": (1,)}, "unknown")):
        monkeypatch.setattr(unchanged, "_program", lambda program=program: program)
        look = Look.at(repository)
        assert look
        assert look.answer == answer


def test_a_gen_that_is_installed_during_a_check_knows_nothing_of_it(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = Look.at(repository)
    assert look
    now = time.time_ns()
    monkeypatch.setattr(unchanged, "_program", lambda: {"another": (1, stat.S_IFREG, 2, now, now)})
    look.keep()
    after = Look.at(repository)
    assert after
    assert after.answer == "unknown"


def test_what_changes_while_it_is_rendered_is_next(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    look = Look.at(repository)
    assert look
    outcome = render(repository, load(repository), dry_run=True, waiting=print)
    change(repository / "clusters/two/cluster.yaml", "retention: 62d", "retention: 64d")
    look.remember(outcome, [])
    assert next_of(repository, capsys) == RENDER


def pulled(repository: Path, *branch: str) -> None:
    """Take what somebody else has rendered, into a repository whose last render knew nothing of it."""
    settle()
    git(repository, "checkout", "-q", *branch)


def test_what_somebody_else_has_rendered_is_not_next(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert next_of(repository, capsys) == NOTHING
    pulled(repository, "other")
    assert next_of(repository, capsys) == NOTHING
    record(repository).unlink()
    assert next_of(repository, capsys, "--cluster", "two") == NOTHING
    assert not record(repository).exists(), "of the other clusters it was not looked at"
    git(repository, "checkout", "-q", "main", "--", "clusters")
    git(repository, "commit", "-qm", "not rendered")
    assert next_of(repository, capsys) == RENDER
    assert next_of(repository, capsys, "--cluster", "two") == RENDER
    assert next_of(repository, capsys, "--cluster", "one") == NOTHING


def test_a_pull_is_looked_at_once(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pulled(repository, "other")
    assert next_of(repository, capsys) == NOTHING
    monkeypatch.setattr("generator.repository.render.changes", None)
    assert next_of(repository, capsys) == NOTHING


def test_nothing_is_rendered_for_that_while_a_cluster_is_edited(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generator.repository.render.changes", None)
    change(repository / "clusters/two/cluster.yaml", "retention: 62d", "retention: 65d")
    assert next_of(repository, capsys) == RENDER


def test_an_edit_that_was_rendered_alone_is_not_next(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verbs that edit a cluster file name its cluster in what comes next."""
    change(repository / "clusters/two/cluster.yaml", "retention: 62d", "retention: 65d")
    settle()
    assert run(["render", "-C", str(repository), "--cluster", "two"]) == 0
    assert next_of(repository, capsys) == NOTHING


def test_outside_of_git_what_stands_tells_what_comes_next(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(repository / ".git")
    assert next_of(repository, capsys) == NOTHING
    change(repository / "clusters/two/cluster.yaml", "retention: 62d", "retention: 65d")
    assert next_of(repository, capsys) == RENDER


def test_what_cannot_be_rendered_is_next(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`gen render` says what is in its way."""
    (repository / "gen.lock").write_text("<<<<<<< HEAD\n")
    assert next_of(repository, capsys) == RENDER
