"""A toy renderer over a toy cluster file, and the steps that `gen render` takes with them."""

import os
import shutil
import subprocess
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from string import ascii_lowercase

from generator.layout.lock import Writer
from generator.repository.hand_edits import Verdict, hand_edits
from generator.repository.history import Snapshot
from generator.repository.plan import Owned, Plan, plan
from generator.repository.write_lock import exclusive
from generator.repository.writer import write

CLUSTER = "clusters/toy/cluster.yaml"
NODES = "overlays/toy/app/nodes.yaml"
TOTAL = "overlays/toy/app/total.yaml"
CUSTOM = "overlays/toy/app/custom/kustomization.yaml"
ONCE = {CUSTOM: b"resources: []\n"}
OWNED = Owned(
    folders=("overlays/toy", "base"),
    files=("gen.lock",),
    kept=("overlays/*/*/custom/*", "overlays/*/*/upstream/*"),
)


def render(cluster: bytes, version: str = "1.0") -> dict[str, bytes]:
    """Render a file and a block for each node, and their total: what a text merge gets wrong."""
    names = [line[2:] for line in cluster.decode().splitlines() if line.startswith("- ")]
    blocks = "".join(f"{name}:\n  kind: node\n  name: {name}\n  gpus: 8\n---\n" for name in names)
    space = "# \n" * 5
    nodes = f"# edit {CLUSTER} instead\nfirst: {names[0]}\n{space}{blocks}{space}total: {8 * len(names)}\n"
    return {
        **{f"overlays/toy/{name}/node.yaml": f"name: {name}\n".encode() for name in names},
        NODES: nodes.encode(),
        TOTAL: f"# edit {CLUSTER} instead\ntotal: {8 * len(names)}\n".encode(),
        "gen.lock": f'gen: "{version}"\n'.encode(),
    }


def text(names: Iterable[str]) -> bytes:
    """Return a cluster file with these nodes; the free lines keep additions apart, so that they merge as text."""
    return "".join(f"- {letter}\n" if letter in names else "# free\n" for letter in ascii_lowercase).encode()


def render_at(snapshot: Snapshot, _cluster: str = "") -> dict[str, bytes] | None:
    cluster = snapshot.read(CLUSTER)
    return None if cluster is None or b"- " not in cluster else render(cluster)


def files(root: Path) -> dict[str, bytes]:
    """Read every file below `root` but Git's."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


class World:
    """One repository on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)

    def nodes(self, *names: str) -> None:
        self.put(CLUSTER, text(names).decode())

    def put(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def text(self, path: str) -> str:
        return (self.root / path).read_text()

    def edit(self, path: str, old: str, new: str) -> None:
        text = self.text(path)
        assert old in text
        self.put(path, text.replace(old, new, 1))

    def git(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.root, check=False, capture_output=True, text=True, env=os.environ
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def forget(self) -> None:
        """Drop the record of what was written, as in a fresh clone."""
        shutil.rmtree(self.root / ".git" / "gen", ignore_errors=True)

    def tree(self, version: str = "1.0") -> dict[str, bytes]:
        return render((self.root / CLUSTER).read_bytes(), version)

    def plan(self, tree: Mapping[str, bytes] | None = None) -> Plan:
        return plan(self.root, self.tree() if tree is None else tree, ONCE, OWNED)

    def judge(self, *, version: str = "1.0", discard: Collection[str] = ()) -> Verdict:
        return hand_edits(self.root, self.plan(self.tree(version)), render_at, writer=Writer(version), discard=discard)

    def render(
        self,
        tree: Mapping[str, bytes] | None = None,
        *,
        version: str = "1.0",
        discard: Collection[str] = (),
        during: AbstractContextManager[object] | None = None,
    ) -> Verdict:
        """Do what `gen render` does: plan, question, and (`during` a fault) write what loses no edit."""
        with exclusive(self.root, print) as lock:
            planned = self.plan(self.tree(version) if tree is None else tree)
            verdict = hand_edits(self.root, planned, render_at, writer=Writer(version), discard=discard)
            if not verdict.edits:
                with during or nullcontext():
                    write(lock, planned)
        return verdict


def generated(root: Path) -> dict[str, bytes]:
    return {path: content for path, content in files(root).items() if path != CLUSTER}


def wanted(world: World) -> dict[str, bytes]:
    return {**world.tree(), **ONCE}
