"""A fleet rendered in parts: together the same as one run, whatever happens to one of them."""

import shutil
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from msgspec import structs

from generator.cli import run
from generator.repository.plan import TEMPORARY
from generator.repository.scaffold import starter
from generator.repository.shards import Shard
from generator.repository.shares import SharedChange, load, save

NAMES = ("one", "two", "three", "four", "five", "six")
UNUSED = "base/cilium/v0.0.1"
ROOT = Path(__file__).parents[2]
# Runs gen, and is killed once it has put so many files in their places.
KILLED = """
import os, signal, sys
from generator.cli import run

left = iter(range(int(sys.argv[1])))
replace = os.replace

def replace_or_die(*paths, **folders):
    if next(left, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*paths, **folders)

os.replace = replace_or_die
run(sys.argv[2:])
"""
# Runs gen, and is killed while it writes a share, half of which is there; or before that gets its name.
KILLED_WRITING = """
import os, signal, sys
from pathlib import Path
from generator.cli import run

def write_half_and_die(path, content):
    with path.open("wb") as file:
        file.write(content[: len(content) // 2])
    os.kill(os.getpid(), signal.SIGKILL)

def die(*paths):
    os.kill(os.getpid(), signal.SIGKILL)

setattr(Path, *{"half": ("write_bytes", write_half_and_die), "unnamed": ("replace", die)}[sys.argv[1]])
run(sys.argv[2:])
"""


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def add(root: Path, name: str, second: int) -> None:
    file = root / "clusters" / name / "cluster.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(starter(name).decode().replace("10.10.", f"10.{second}."))


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "more")


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six clusters, rendered and committed. Since then one has left, one has come, one has changed and one has another
    team; and a base is there that nobody uses any more.
    """
    root = tmp_path_factory.mktemp("fleet") / "repository"
    for second, name in enumerate(NAMES, 11):
        add(root, name, second)
    git(root, "init", "-q", "-b", "main")
    assert run(["render", "-C", str(root)]) == 0
    old = root / UNUSED / "kustomization.yaml"
    old.parent.mkdir(parents=True)
    old.write_bytes(next(root.glob("base/cilium/*/kustomization.yaml")).read_bytes())
    commit(root)
    (root / "clusters/two/cluster.yaml").unlink()
    add(root, "nine", 40)
    changed = root / "clusters/five/cluster.yaml"
    changed.write_text(changed.read_text().replace("gpus: 8", "gpus: 4"))
    other = root / "clusters/four/cluster.yaml"
    other.write_text(other.read_text().replace("name: research", "name: science"))
    commit(root)
    return root


@pytest.fixture
def root(rendered: Path, tmp_path: Path) -> Path:
    """A clone, as each pod has one."""
    return clone(rendered, tmp_path / "repository")


def clone(source: Path, target: Path) -> Path:
    subprocess.run(["git", "clone", "-q", source, target], check=True)
    return target


def make(root: Path, to: Path, of: int, *numbers: int) -> None:
    for number in numbers or range(1, of + 1):
        words = ["render", "-C", str(root), "--shard", f"{number}/{of}", "--to", str(to), "--discard", UNUSED]
        assert run(words) == 0


def join(root: Path, parts: Path, *more: str) -> int:
    return run(["render", "-C", str(root), "--from", str(parts), *more])


def files(root: Path) -> dict[str, tuple[bytes, int]]:
    """Return all that stands, with its permissions."""
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts)
    return {path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mode) for path in found}


def undivided(rendered: Path, place: Path) -> dict[str, tuple[bytes, int]]:
    one = clone(rendered, place)
    assert run(["render", "-C", str(one), "--discard", UNUSED]) == 0
    return files(one)


@pytest.mark.parametrize("of", [1, 3, 11])
def test_the_parts_together_are_what_one_run_writes(rendered: Path, tmp_path: Path, of: int) -> None:
    parts, before = tmp_path / "parts", files(rendered)
    elsewhere = clone(rendered, tmp_path / "elsewhere")
    make(elsewhere, parts, of, *range(of, 0, -1))
    assert files(elsewhere) == before
    here = clone(rendered, tmp_path / "here")
    assert join(here, parts, "--discard", UNUSED) == 0
    expected = undivided(rendered, tmp_path / "one")
    assert files(here) == expected
    gone = {path.split("/")[1] for path in before.keys() - expected.keys() if path.startswith("overlays/")}
    assert gone == {"four", "two"}
    assert f"{UNUSED}/kustomization.yaml" not in expected
    assert "overlays/nine/namespaces/kustomization.yaml" in expected
    assert "overlays/four/queues/clusterqueue-research.yaml" in before.keys() - expected.keys()
    assert run(["render", "-C", str(here), "--check"]) == 0


def test_a_part_that_is_repeated_is_the_same(root: Path, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    make(root, parts, 3)
    first = files(parts)
    make(root, parts, 3, 2)
    names = {name for name in first if name != "2-of-3.share"}
    assert {name: files(parts)[name] for name in names} == {name: first[name] for name in names}
    assert join(root, parts, "--discard", UNUSED) == 0
    after = files(root)
    assert join(root, parts) == 0
    assert files(root) == after


@pytest.mark.parametrize("when", ["half", "unnamed"])
def test_a_part_that_is_killed_and_repeated_changes_nothing(
    when: str, rendered: Path, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts, before = tmp_path / "parts", files(root)
    make(root, parts, 3, 1, 3)
    words = [
        sys.executable,
        "-c",
        KILLED_WRITING,
        when,
        "render",
        "-C",
        str(root),
        "--shard",
        "2/3",
        "--to",
        str(parts),
    ]
    killed = subprocess.run([*words, "--discard", UNUSED], cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    assert killed.returncode == -signal.SIGKILL
    assert {file.name for file in parts.iterdir()} == {"1-of-3.share", "2-of-3.new", "3-of-3.share"}
    assert files(root) == before
    assert join(root, parts) == 2
    assert "not all shares are there, 2/3 missing" in capsys.readouterr().err
    make(root, parts, 3, 2)
    assert join(root, parts, "--discard", UNUSED) == 0
    assert files(root) == undivided(rendered, tmp_path / "one")


@pytest.mark.parametrize("replaced", [0, 1, 60, 130])
def test_a_join_that_is_killed_is_made_good_by_the_next(
    replaced: int, rendered: Path, root: Path, tmp_path: Path
) -> None:
    parts = tmp_path / "parts"
    make(root, parts, 3)
    expected = undivided(rendered, tmp_path / "one")
    words = [sys.executable, "-c", KILLED, str(replaced), "render", "-C", str(root), "--from", str(parts)]
    killed = subprocess.run([*words, "--discard", UNUSED], cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    assert killed.returncode == -signal.SIGKILL
    half = files(root)
    assert half != expected
    assert any(TEMPORARY.fullmatch(Path(name).name) for name in half)
    assert join(root, parts, "--discard", UNUSED) == 0
    assert files(root) == expected


def test_what_is_missing_is_named(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = tmp_path / "parts"
    make(root, parts, 3, 1, 3)
    (parts / "2-of-3.new").write_bytes(b"killed")
    before = files(root)
    assert join(root, parts) == 2
    assert f"not all shares are there, 2/3 missing; `gen render --shard 2/3 --to {parts}`" in capsys.readouterr().err
    make(root, parts, 2, 1)
    assert join(root, parts) == 2
    assert "holds shares of wholes of 2 and 3 parts; remove those of one whole" in capsys.readouterr().err
    shutil.rmtree(parts)
    parts.mkdir()
    assert join(root, parts) == 2
    assert "there is no share in it" in capsys.readouterr().err
    assert files(root) == before


def test_a_part_that_is_cut_short_is_refused(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = tmp_path / "parts"
    make(root, parts, 2)
    whole = (parts / "1-of-2.share").read_bytes()
    for wrong in (whole[: len(whole) // 2], b"", zlib.compress(b"\x01")):
        (parts / "1-of-2.share").write_bytes(wrong)
        assert join(root, parts) == 2
        assert "1-of-2.share: is not a share as this gen writes them: cut short" in capsys.readouterr().err


@pytest.mark.parametrize(
    "path",
    [
        "../outside",
        "/etc/passwd",
        "clusters/one/cluster.yaml",
        ".github/workflows/a.yaml",
        "base/../.git/hooks/a",
        "base",
    ],
)
def test_a_part_that_writes_elsewhere_is_refused(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    parts = tmp_path / "parts"
    make(root, parts, 2)
    (share, _) = load(parts)
    save(parts, structs.replace(share, changes=(SharedChange(path, "", b"x"),)))
    before = files(root)
    assert join(root, parts, "--discard", UNUSED) == 2
    assert "would write it, and gen generates no such file" in capsys.readouterr().err
    assert files(root) == before


def test_parts_that_differ_in_what_they_share_are_refused(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = tmp_path / "parts"
    make(root, parts, 2)
    for share, content in zip(load(parts), (b"a", b"b"), strict=True):
        save(parts, structs.replace(share, changes=(SharedChange("base/x/v1/y.yaml", "", content),)))
    assert join(root, parts, "--discard", UNUSED) == 2
    assert "base/x/v1/y.yaml: shard 2 of 2 would write it otherwise than another one" in capsys.readouterr().err


def test_parts_of_another_commit_are_refused(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = tmp_path / "parts"
    make(root, parts, 2, 1)
    file = root / "clusters/six/cluster.yaml"
    file.write_text(f"{file.read_text()}# a remark\n")
    make(root, parts, 2, 2)
    before = files(root)
    assert join(root, parts) == 2
    assert "shard 1/2 was rendered of other cluster files" in capsys.readouterr().err
    assert files(root) == before


def test_parts_of_another_lock_are_refused(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = tmp_path / "parts"
    make(root, parts, 2)
    lock = root / "gen.lock"
    lock.write_text(f"{lock.read_text()}# a remark\n")
    assert join(root, parts) == 2
    assert "shard 1/2 was rendered of other cluster files, or of another gen.lock" in capsys.readouterr().err


def test_parts_of_another_gen_are_refused(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from generator.layout.lock import Writer

    parts = tmp_path / "parts"
    make(root, parts, 2)
    monkeypatch.setattr("generator.repository.joining.this_gen", lambda: Writer("9.9", ""))
    assert join(root, parts) == 2
    assert "of another build; make all with the gen that joins them" in capsys.readouterr().err


def test_an_edit_since_the_part_was_made_is_kept(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = tmp_path / "parts"
    make(root, parts, 2)
    edited = next(
        path for path in sorted((root / "overlays/five/queues").iterdir()) if b"nvidia.com/gpu" in path.read_bytes()
    )
    edited.write_bytes(b"# mine\n")
    assert join(root, parts, "--discard", UNUSED) == 2
    assert f"{edited.relative_to(root)}: was changed since its shard was rendered" in capsys.readouterr().err
    assert edited.read_bytes() == b"# mine\n"


def test_a_hand_edit_stops_its_part(rendered: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = clone(rendered, tmp_path / "edited")
    edited = root / "overlays/six/namespaces/kustomization.yaml"
    edited.write_bytes(edited.read_bytes() + b"# mine\n")
    commit(root)
    parts = tmp_path / "parts"
    codes = [run(["render", "-C", str(root), "--shard", f"{one}/3", "--to", str(parts)]) for one in (1, 2, 3)]
    assert codes == [0, 1, 0]
    assert "overlays/six/namespaces/kustomization.yaml" in capsys.readouterr().err
    assert [path.name for path in sorted(parts.iterdir())] == ["1-of-3.share", "3-of-3.share"]


def test_a_hand_edit_in_what_is_shared_stops_the_join(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = tmp_path / "parts"
    make(root, parts, 2)
    before = files(root)
    # Nobody renders this base: the one that is removed was made by hand.
    assert join(root, parts) == 1
    told = capsys.readouterr()
    assert "base/cilium/v0.0.1/kustomization.yaml:1: was changed by hand in commit" in told.err
    assert "refused: 1 file was edited by hand; nothing was written" in told.out
    assert files(root) == before


def test_a_wrong_cluster_stops_its_part(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = root / "clusters/six/cluster.yaml"
    file.write_text(file.read_text().replace("domain:", "domains:"))
    assert run(["render", "-C", str(root), "--shard", "2/3", "--to", str(tmp_path / "parts")]) == 1
    told = capsys.readouterr()
    assert "nothing was written" in told.err
    assert "clusters/six/cluster.yaml:" in told.out
    assert not (tmp_path / "parts").exists()


def test_a_dry_join_writes_nothing(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = tmp_path / "parts"
    make(root, parts, 2)
    before = files(root)
    assert join(root, parts, "--check", "--discard", UNUSED) == 1
    assert "would change: " in capsys.readouterr().out
    assert files(root) == before


def test_a_part_is_checked_alone(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for number in (1, 2, 3):
        assert run(["check", "-C", str(root), "--shard", f"{number}/3"]) == 0
        told.append(capsys.readouterr().out)
    counted = [len(Shard(number, 3).mine({*NAMES, "nine"} - {"two"})) for number in (1, 2, 3)]
    assert [text.splitlines()[-2].split(" in ")[1].split()[0] for text in told] == [f"{count}" for count in counted]
    assert run(["check", "-C", str(root), "--shard", "40/40"]) == 0
    assert "no cluster of part 40/40 is there" in capsys.readouterr().out


def test_a_part_of_what_differs_is_checked(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, 2, 3, 4):
        words = ["render", "-C", str(root), "--check", "--since", "HEAD~1", "--shard", f"{number}/4"]
        mine = Shard(number, 4).mine(("five", "four", "nine"))
        assert run(words) == bool(mine)
        told = capsys.readouterr().out
        assert [name for name in ("five", "four", "nine", "one") if f"{name}: " in told] == mine
        assert (f"no cluster of part {number}/4 differs since HEAD~1" in told) is not bool(mine)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--shard", "1/2"], "a part alone cannot tell what no cluster uses any more"),
        (["--to", "parts"], "--to is for a part of all clusters: give it with --shard"),
        (["--shard", "1/2", "--to", "parts", "--cluster", "one"], "without --cluster and --since"),
        (["--shard", "1/2", "--to", "parts", "--check"], "leave out --check and --dry-run"),
        (["--shard", "1/2", "--from", "."], "--from joins all parts: give it without --shard"),
        (["--from", ".", "--cluster", "one"], "--from joins all parts"),
        (["--shard", "3/2", "--check"], "--shard 3/2: this is no part of a whole"),
    ],
)
def test_options_that_say_two_things_are_refused(
    root: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert run(["render", "-C", str(root), *words]) == 2
    assert told in capsys.readouterr().err


def test_a_folder_that_is_closed_is_told(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run(["render", "-C", str(root), "--shard", "1/2", "--to", str(tmp_path / "file" / "parts")]) == 2
    assert "1-of-2.share: cannot be written" in capsys.readouterr().err
