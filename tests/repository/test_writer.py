import os
import random
import subprocess
import sys
import time
from pathlib import Path

from toyworld import CUSTOM, NODES, ONCE, World, files, generated, render, text, wanted

NEW = ("a", "b", "c", "t")


def test_a_write_makes_the_tree_what_was_planned(world: World) -> None:
    world.nodes(*NEW)
    world.render()
    assert generated(world.root) == wanted(world)
    assert not (world.root / "overlays/toy/m").exists()
    assert not list(world.root.rglob(".gen-*"))


def test_what_did_not_change_is_not_written(world: World) -> None:
    before = {path: (world.root / path).stat().st_mtime_ns for path in files(world.root)}
    world.nodes(*NEW)
    world.render()
    for path in ("gen.lock", CUSTOM, "overlays/toy/a/node.yaml"):
        assert (world.root / path).stat().st_mtime_ns == before[path]
    assert (world.root / NODES).stat().st_mtime_ns > before[NODES]


def test_an_updated_file_keeps_its_permissions(world: World) -> None:
    (world.root / NODES).chmod(0o750)
    world.nodes(*NEW)
    world.render()
    assert (world.root / NODES).stat().st_mode & 0o777 == 0o750


def test_new_files_have_the_usual_permissions(world: World) -> None:
    mask = os.umask(0o027)
    try:
        world.nodes(*NEW)
        world.render()
    finally:
        os.umask(mask)
    assert (world.root / "overlays/toy/b/node.yaml").stat().st_mode & 0o777 == 0o640


def test_what_a_killed_run_left_is_removed_although_nothing_changed(world: World) -> None:
    world.put(".gen-0~", "left")
    world.put("overlays/toy/app/custom/.gen-7~", "left")
    (world.root / "overlays/toy/gone/deep").mkdir(parents=True)
    before = wanted(world)
    world.render()
    assert generated(world.root) == before
    assert not (world.root / "overlays/toy/gone").exists()


def test_only_empty_folders_are_removed(world: World) -> None:
    world.put("overlays/toy/m/custom/mine.yaml", "mine\n")
    world.nodes(*NEW)
    world.render()
    assert world.text("overlays/toy/m/custom/mine.yaml") == "mine\n"
    assert not (world.root / "overlays/toy/m/node.yaml").exists()


AGAIN = """
import sys
from itertools import cycle
from pathlib import Path
from toyworld import World, render, text
world = World(Path(sys.argv[1]))
print("ready", flush=True)
for count, names in enumerate(cycle(sys.argv[3:])):
    assert not world.render(render(text(names))).edits
    if count == int(sys.argv[2]):
        break
"""


def again(world: World, rounds: int, *names: str) -> "subprocess.Popen[str]":
    """Render the node sets in turn, in another process."""
    return subprocess.Popen(
        [sys.executable, "-c", AGAIN, str(world.root), str(rounds), *names],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )


def test_killed_for_real_each_file_is_old_or_new_and_the_next_run_heals(world: World) -> None:
    sets = ("amt", "bcdefghijkl", "az")
    states = [{**render(text(names)), **ONCE} for names in sets]
    chance = random.Random(7)
    for _ in range(12):
        with again(world, -1, *sets[:2]) as process:
            assert process.stdout
            process.stdout.readline()
            time.sleep(chance.uniform(0, 0.03))
            process.kill()
        standing = {path: content for path, content in generated(world.root).items() if ".gen-" not in path}
        assert all(content in [state.get(path) for state in states] for path, content in standing.items())
        world.nodes("a", "z")
        assert world.render().edits == ()
        assert generated(world.root) == wanted(world)


def test_two_processes_at_once_leave_one_whole_tree(world: World) -> None:
    one, two = again(world, 20, "amt"), again(world, 20, "bcdefghijkl")
    with one, two:
        assert (one.wait(30), two.wait(30)) == (0, 0)
    assert generated(world.root) in [{**render(text(names)), **ONCE} for names in ("amt", "bcdefghijkl")]
