"""Whether Ceph has hosts or racks enough, and room, without some OSDs."""

import ast
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cephforms import TIB, forms, judge, pool, rule
from nodeshelf import imported

from generator.components.node_operations.templates import ask_ceph_job
from generator.components.static import read_text

Object = dict[str, Any]
FOUR = {number: f"cpu-{number // 2}" for number in range(8)}
"""Two OSDs on each of four hosts."""
THREE = {number: host for number, host in FOUR.items() if number < 6}


def told(answers: Object, *leaving: int) -> list[str]:
    return [*judge()["reasons"](answers, {*leaving})]


def test_a_disk_or_a_host_of_four_may_go() -> None:
    answers = forms(FOUR, [pool("data", 3)])
    assert told(answers, 0) == []
    assert told(answers, 0, 1) == []


@pytest.mark.parametrize(("size", "what"), [(4, "4 copies"), (6, "6 copies")])
def test_a_host_stays_that_a_pool_needs(size: int, what: str) -> None:
    """With k+m chunks as with copies: a pool's size is k+m."""
    (said,) = told(forms(FOUR, [pool(".mgr", 3), pool("chunks", size)], used=0.1), 0, 1)
    assert said == (
        f"pool chunks needs {size} of type host for its {what} or chunks, and 3 with OSDs that run would be left in "
        "default (nvme)"
    )


def test_racks_count_where_a_rule_chooses_racks() -> None:
    racks = {"cpu-0": "r1", "cpu-1": "r1", "cpu-2": "r2", "cpu-3": "r3"}
    answers = forms(FOUR, [pool("data", 3)], racks=racks, rules=[rule(0, "default", "rack")])
    assert told(answers, 0, 1) == []
    (said,) = told(answers, 4, 5)
    assert "pool data needs 3 of type rack" in said
    assert "2 with OSDs that run would be left in default" in said


def test_what_is_down_takes_nothing() -> None:
    answers = forms(FOUR, [pool("data", 3)], used=0.1)
    for one in answers["map"]["osds"][6:]:
        one["up"] = 0
    assert "2 with OSDs that run would be left" in told(answers, 0, 1)[0]


def test_what_was_held_by_an_osd_that_is_out_has_left_it() -> None:
    """It needs no more room, as where a disk failed days ago; but the host that it was on may still be missed."""
    for hosts, size, said in ((FOUR, 3, []), (THREE, 3, ["pool data needs 3 of type host"])):
        answers = forms(hosts, [pool("data", size)], used=0.84)
        for one in answers["tree"]["nodes"]:
            if one["id"] in (0, 1):
                one["reweight"] = 0
        assert [one.partition(" for its")[0] for one in told(answers, 0, 1)] == said


def test_what_is_left_must_hold_all_below_nearfull() -> None:
    assert told(forms(FOUR, [pool("data", 3)], used=0.63), 0, 1) == []
    (said,) = told(forms(FOUR, [pool("data", 3)], used=0.65), 0, 1)
    assert said == "87% of default (nvme) would be used, and Ceph warns from 85%"


def test_a_host_that_nothing_can_leave_must_hold_its_own() -> None:
    """With three hosts and three copies, what is on a disk goes to the other disk of its host."""
    assert told(forms(THREE, [pool("data", 3)], used=0.4), 0) == []
    (said,) = told(forms(THREE, [pool("data", 3)], used=0.6), 0)
    assert said == (
        "120% of host cpu-0 would be used, for pool data needs all 3 that would be left; Ceph warns from 85%"
    )
    large = dict.fromkeys((2, 3, 4, 5), 9 * TIB)
    assert "host cpu-0 would be used" in told(forms(THREE, [pool("data", 3)], used=0.2, sizes=large), 0)[0]


def test_other_classes_of_devices_neither_count_nor_hold_anything() -> None:
    kinds = dict.fromkeys((6, 7), "hdd")
    answers = forms(FOUR, [pool("data", 3)], kinds=kinds, used=0.1)
    assert "2 with OSDs that run would be left in default (nvme)" in told(answers, 0, 1)[0]
    assert told(answers, 6, 7) == [], "no pool is on them"


@pytest.mark.parametrize(("num", "count"), [(0, 4), (2, 2), (-1, 3)])
def test_a_rule_may_choose_another_number(num: int, count: int) -> None:
    answers = forms(THREE, [pool("data", 4)], used=0.1, rules=[rule(0, "default", "host", num)])
    said = told(answers, 0, 1)
    assert bool(said) == (count > 2)
    assert not said or f"needs {count} of type host" in said[0]


def test_nothing_moves_with_a_flag_against_it() -> None:
    answers = forms(FOUR, [pool("data", 3)])
    answers["map"]["flags_set"] += ["nobackfill"]
    assert "the flag nobackfill, with which nothing moves: `ceph osd unset nobackfill`" in told(answers, 0)[0]


FAKE = """#!/bin/sh
case "$*" in
*"{fails}"*) echo "Error EAGAIN: no numbers yet" >&2; exit 11 ;;
*"--connect-timeout 15 osd dump --format json") cat {folder}/map ;;
*"osd df tree --format json") cat {folder}/tree ;;
*"osd crush rule dump --format json") cat {folder}/rules ;;
*) echo "what: $*" >&2; exit 22 ;;
esac
"""


def asked(folder: Path, answers: Object, *words: str, fails: str = "nothing") -> tuple[int, str]:
    """Run what the pod runs that asks, beside a program `ceph`; its exit code and last words."""
    (container,) = ask_ceph_job()["spec"]["template"]["spec"]["containers"]
    for name, answer in answers.items():
        (folder / name).write_text(json.dumps(answer))
    program = folder / "ceph"
    program.write_text(FAKE.format(folder=folder, fails=fails))
    program.chmod(0o755)
    (folder / "python3").symlink_to(sys.executable)
    shell = [one.replace("/dev/termination-log", str(folder / "told")) for one in container["command"]]
    env = {one["name"]: one["value"] for one in container["env"]} | {"PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run([*shell, *words], env=env, check=False)
    return done.returncode, (folder / "told").read_text().strip()


def test_the_pod_that_asks_ends_with_the_judgement(tmp_path: Path) -> None:
    """Of 600 OSDs, whose places alone are longer than what a pod may end with."""
    many = {number: f"cpu-{number // 12}" for number in range(600)}
    code, said = asked(tmp_path, forms(many, [pool(f"pool-{one}", 51) for one in range(40)]), "room", "3", "4")
    assert (code, json.loads(said)) == (0, [f"pool pool-{one} needs 51 of type host for its 51 copies or chunks, and 50"
        " with OSDs that run would be left in default (nvme)" for one in range(5)])  # fmt: skip
    assert len(said.encode()) < 4096


def test_the_pod_that_asks_ends_as_ceph_does(tmp_path: Path) -> None:
    code, said = asked(tmp_path, forms(FOUR, [pool("data", 3)]), "room", "3", fails="osd df")
    assert (code, said) == (11, "Error EAGAIN: no numbers yet")


def test_the_judgement_is_of_a_python_that_images_of_ceph_have() -> None:
    """3.9: CentOS Stream 9's. The variable stays as it is: Kubernetes replaces what looks like $(NAME)."""
    text = read_text("node_operations/room.py.txt")
    ast.parse(text, feature_version=(3, 9))
    assert "$" not in text


@pytest.fixture
def osds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The script that asks Ceph, and what it is answered."""
    monkeypatch.setenv("NODE", "cpu-0")
    scripts = imported(tmp_path, monkeypatch)
    next(scripts)
    yield importlib.import_module("osds")
    next(scripts, None)


def test_what_is_lacking_hinders_unless_somebody_goes_on_knowingly(osds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(osds, "answered", lambda _api, *words: json.dumps([" ".join(words)] if "4" in words else []))
    assert osds.short(None, [3], "enough") == []
    assert osds.short(None, [3, 4], "enough") == [
        "room 3 4. See to that first, or go on knowingly by -p room=short"
    ]  # fmt: skip
    assert osds.short(None, [3, 4], "short") == []


def test_a_judgement_that_ends_in_an_error_stops_nobody_for_ever(osds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_words: object) -> str:
        raise osds.Refused("`room 3` is refused: KeyError: 7", 1)

    monkeypatch.setattr(osds, "answered", fails)
    (said,) = osds.short(None, [3], "enough")
    assert "not known whether Ceph could do without them: `room 3` is refused: KeyError: 7" in said
    assert osds.short(None, [3], "short") == []
