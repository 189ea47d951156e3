"""`gen workflow simulate` up to where its twin begins: what it asks of a cluster, and what it refuses. The play itself
is in tests/real/test_simulate.py.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from livecluster import living
from reference import ROOT, load

from generator.cli import run
from generator.live.identity import record

Gen = Callable[..., tuple[int, str, str]]
REMOVAL = ("node-removal", "-p", "node=gpu-01")


@pytest.fixture
def gen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Gen:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    def call(*words: str) -> tuple[int, str, str]:
        code = run(["workflow", "simulate", "--cluster", "ml50", "-C", str(ROOT), *words])
        return (code, *capsys.readouterr())

    return call


def test_what_runs_is_only_read_and_kept_for_a_machine_without_a_way_there(gen: Gen, tmp_path: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": "default"}}
    container = {"name": "main", "image": "any:1", "env": [{"name": "PASSWORD", "value": "of-the-cluster"}]}
    state = tmp_path / "state"
    with living(tmp_path, record(load("ml50")), {**pod, "spec": {"containers": [container]}}) as (there, _):
        code, out, err = gen(*REMOVAL, "--kubeconfig", str(tmp_path / "kubeconfig"), "--save", str(state))
        assert code == 0, err
        assert (there.writes, {one.method for one in there.asked}) == ([], {"GET"})
        assert not [one for one in there.asked if "secrets" in one.path]
    assert "next: the same with --state" in out
    kept = json.loads(state.read_text())["found"]["/api/v1/pods"]
    assert [one["metadata"]["name"] for one in kept] == ["one"]
    assert "of-the-cluster" not in state.read_text()


def test_what_was_saved_is_played_on_a_twin_of_its_own_cluster_alone(gen: Gen, tmp_path: Path) -> None:
    kept = {"cluster": "gpu-serving", "host": "https://there", "at": "2026-01-01T00:00:00Z", "found": {}}
    (tmp_path / "state").write_text(json.dumps(kept))
    code, _, err = gen(*REMOVAL, "--state", str(tmp_path / "state"))
    assert (code, "state: it is what runs in gpu-serving, not in ml50: ask for that one" in err) == (2, True)


def test_without_the_programs_of_a_twin_it_says_how_to_get_them(gen: Gen) -> None:
    code, _, err = gen(*REMOVAL, "--samples")
    assert code == 2
    assert "etcd is neither in" in err
    assert "tools/real.py" in err or "make real-tools" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("node-remova", "--samples"), "node-remova cannot be simulated; did you mean node-removal?"),
        (
            ("minio-expansion", "--samples"),
            "minio-expansion cannot be simulated; a twin has nodes and pods alone",
        ),
        (("backup", "--samples"), "backup cannot be simulated; a twin has nodes and pods alone; there are kubernetes"),
        (("osd-replacement", "--samples", "--cluster", "a30-bench"), "a30-bench has no operation osd-replacement"),
        ((*REMOVAL, "--samples", "--kubeconfig", "there"), "--samples and --kubeconfig: no cluster is asked"),
        ((*REMOVAL, "--state", "here", "--save", "there"), "--state and --save: no cluster is asked"),
        ((*REMOVAL, "--state", "/dev/zero"), "/dev/zero: it is a device, which may never end"),
        ((*REMOVAL, "--state", "pyproject.toml"), "pyproject.toml: it is no state that `--save` wrote"),
        ((*REMOVAL, "--kubeconfig", "nowhere"), "nowhere: there is no such kubeconfig"),
        ((*REMOVAL, "-p", "osd=out", "--kubeconfig", "nowhere"), "no parameter osd; did you mean osds?"),
    ],
)
def test_what_cannot_be_is_refused(gen: Gen, words: tuple[str, ...], said: str) -> None:
    code, _, err = gen(*words)
    assert code == 2
    assert said in err
