"""`gen init NAME --kubeconfig`: what is written, what is said, what is refused before anything is asked."""

from pathlib import Path

import pytest
from livecluster import LiveCluster, Manifest, forbidden, living

from generator.cli import run

FILE = "clusters/lab/cluster.yaml"


def node(name: str, address: str, **labels: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {key.replace("_", "/"): value for key, value in labels.items()}},
        "status": {
            "capacity": {"cpu": "16", "memory": "64Gi", "pods": "110"},
            "addresses": [{"type": "InternalIP", "address": address}],
            "nodeInfo": {"kubeletVersion": "v1.35.0", "kernelVersion": "6.8.0"},
        },
    }


CONTROL = {"node-role.kubernetes.io_control-plane": ""}
NODES = (node("cp-1", "10.0.0.11", **CONTROL), node("w-1", "10.0.0.21"))


def init(repository: Path, folder: Path, *more: str) -> int:
    return run(["init", "lab", "-C", str(repository), "--kubeconfig", str(folder / "kubeconfig"), *more])


def test_a_file_is_written_that_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    with living(tmp_path, *NODES) as (cluster, _):
        assert init(repository, tmp_path) == 0
        assert cluster.writes == []
    out = capsys.readouterr().out
    assert out.startswith("2 nodes in 2 pools\nnot known, and so marked in clusters/lab/cluster.yaml:\n")
    assert f"wrote {FILE}\n" in out
    text = (repository / FILE).read_text()
    assert "    - {name: w-1, pool: cpu, address: 10.0.0.21}\n" in text
    marked = [line.partition(": ")[2].strip() for line in out.splitlines() if line.startswith("  - site: domain")]
    assert all(f"# not known: {line.removeprefix('domain: ')}" in text for line in marked)
    assert marked


def test_no_secret_is_asked_for(tmp_path: Path) -> None:
    with living(tmp_path, *NODES) as (cluster, _):
        assert init(tmp_path, tmp_path, "--dry-run") == 0
        assert {one.method for one in cluster.asked} == {"GET"}
        assert not [one.path for one in cluster.asked if "secrets" in one.path]


def test_what_is_refused_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(cluster: LiveCluster) -> None:
        cluster.refuses["GET /apis/apps/v1/deployments"] = forbidden("list", "deployments", "apps")

    with living(tmp_path, *NODES) as (cluster, _):
        refuse(cluster)
        assert init(tmp_path, tmp_path) == 0
    assert "  - rights: you lack the right to get or list deployments.apps\n" in capsys.readouterr().out


def test_a_file_that_is_there_is_left_alone_and_nothing_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "clusters/lab").mkdir(parents=True)
    (tmp_path / FILE).write_text("mine\n")
    with living(tmp_path, *NODES) as (cluster, _):
        assert init(tmp_path, tmp_path) == 2
        assert cluster.asked == []
    assert f"{FILE}: exists already" in capsys.readouterr().err
    assert (tmp_path / FILE).read_text() == "mine\n"


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with living(tmp_path, *NODES):
        assert init(tmp_path, tmp_path, "--dry-run") == 0
    assert f"would write {FILE}\n" in capsys.readouterr().out
    assert not (tmp_path / "clusters").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["init", "--ci", "github", "--kubeconfig", "k"], "--kubeconfig is about one cluster: name it as well"),
        (["init", "lab", "--kubeconfig", "k", "--from", "nodes.csv"], "both say which nodes there are"),
        (["init", "lab", "--context", "one"], "--context names a context of a kubeconfig"),
        (["init", "lab", "--kubeconfig", "absent"], "absent: there is no such kubeconfig"),
        (["init", "LAB", "--kubeconfig", "absent"], "cannot be a cluster's name"),
    ],
)
def test_half_a_question_is_refused(
    tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_away_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with living(tmp_path):
        pass
    assert init(tmp_path, tmp_path) == 2
    assert "the connection failed" in capsys.readouterr().err
    assert not (tmp_path / "clusters").exists()
