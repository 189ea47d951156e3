"""`gen workload`, as it is typed."""

import re
import resource
from pathlib import Path

import pytest
import yaml

from generator.cli import run

ROOT = Path(__file__).parents[2]
NEW = ["workload", "new", "-C", str(ROOT)]
BERT = ["bert", "--image", "example.org/train:1", "--gpus", "8"]


def test_what_is_printed_is_what_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run([*NEW, "jax", *BERT, "--team", "vision"]) == 0
    printed = capsys.readouterr().out
    kinds = [one["kind"] for one in yaml.load_all(printed, yaml.CSafeLoader)]
    assert kinds == ["ConfigMap", "Service", "PersistentVolumeClaim", "Job"]
    file = tmp_path / "bert.yaml"
    assert run([*NEW, "jax", *BERT, "--team", "vision", "--output", str(file)]) == 0
    assert file.read_text() == printed
    assert run([*NEW, "jax", *BERT, "--team", "vision", "--output", "-"]) == 0
    assert (capsys.readouterr().out.endswith(printed), Path("-").exists()) == (True, False)


def test_of_a_file_for_which_there_is_no_room_nothing_is_left(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    soft, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most))
    try:
        assert run([*NEW, "jax", *BERT, "--team", "vision", "--output", str(tmp_path / "bert.yaml")]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, most))
    assert "bert.yaml: cannot be written: File too large" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_stays(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "bert.yaml"
    file.write_text("mine")
    assert run([*NEW, "jax", *BERT, "--team", "vision", "--output", str(file)]) == 2
    assert (file.read_text(), "is there already" in capsys.readouterr().err) == ("mine", True)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "examples" / "bert.yaml"
    assert run([*NEW, "jax", *BERT, "--team", "vision", "--output", str(file)]) == 2
    assert f"{file}: there is no folder {file.parent}: make it, or name another file" in capsys.readouterr().err


def test_the_cluster_is_the_one_that_has_the_team(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*NEW, "jax", "bert", "--image", "x:1", "--gpus", "1", "--team", "mlperf"]) == 0
    assert "gen.internal/pool: bench" in capsys.readouterr().out, "a pool of a30-bench"
    assert run([*NEW, "jax", *BERT, "--team", "visoin"]) == 2
    assert "no cluster has a team visoin; did you mean vision?" in capsys.readouterr().err
    assert run([*NEW, "jax", *BERT, "--team", "vision", "--cluster", "ml05"]) == 2
    assert "clusters/ml05/cluster.yaml: there is no such file; did you mean ml50?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("size", "told"),
    [
        ("5 TB", "--checkpoints: `5 TB` is not an amount"),
        ("0", "0 is 0 bytes"),
        ("500", "500 is 500 bytes: give the unit"),
    ],
)
def test_a_size_that_is_none_is_told(capsys: pytest.CaptureFixture[str], size: str, told: str) -> None:
    assert run([*NEW, "jax", *BERT, "--team", "vision", "--checkpoints", size]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("image", ["", " "])
def test_an_image_that_a_script_left_empty_is_told(capsys: pytest.CaptureFixture[str], image: str) -> None:
    for words in ([*NEW, "jax", "a", "--gpus", "1"], ["workload", "serve", "a", "--port", "80", "--replicas", "1"]):
        assert run([*words, "--team", "vision", "--image", image]) == 2
        assert "'--image': it is empty; give IMAGE\n" in capsys.readouterr().err


def test_a_cluster_file_that_is_wrong_is_mended_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "clusters/ml50").mkdir(parents=True)
    text = (ROOT / "clusters/ml50/cluster.yaml").read_text()
    (tmp_path / "clusters/ml50/cluster.yaml").write_text(text.replace("gpus: 40, borrow: 16", "gpus: 400"))
    assert run(["workload", "new", "-C", str(tmp_path), "jax", *BERT, "--team", "vision"]) == 1
    told = capsys.readouterr()
    assert ("GEN-TEAM-002" in told.out, "mend them first" in told.err, "kind: Job" in told.out) == (True, True, False)


ASR = ["triton", "asr", "--team", "search", "--cluster", "gpu-serving", "--pool", "l4", "--gpus", "1"]
CLAIMED = ["--models", "pvc://repository/asr", "--image", "registry.example.org/search/triton:26.07"]


def test_a_service_has_as_many_replicas_as_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    for replicas, least in (("1..4", 1), ("3..4", 3)):
        assert run([*NEW, *ASR, *CLAIMED, "--replicas", replicas]) == 0
        *_, scaler = yaml.load_all(capsys.readouterr().out, yaml.CSafeLoader)
        assert (scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]) == (least, 4)
    assert run([*NEW, *ASR, *CLAIMED, "--replicas", "3"]) == 0
    *_, deployment = yaml.load_all(capsys.readouterr().out, yaml.CSafeLoader)
    assert deployment["spec"]["replicas"] == 3


@pytest.mark.parametrize(("asked", "followed"), [([], "triton_queue_seconds"), (["gpu"], "gpu_engine_active")])
def test_a_service_follows_what_is_said(capsys: pytest.CaptureFixture[str], asked: list[str], followed: str) -> None:
    said = ["--scale-on", *asked] if asked else []
    assert run([*NEW, *ASR, *CLAIMED, "--replicas", "1..4", *said]) == 0
    *_, scaler = yaml.load_all(capsys.readouterr().out, yaml.CSafeLoader)
    assert [one["pods"]["metric"]["name"] for one in scaler["spec"]["metrics"]] == [followed]


@pytest.mark.parametrize("replicas", ["4..2", "0..3", "0", "x", "1..", "1...4", "99999"])
def test_numbers_of_replicas_that_are_none_are_told(capsys: pytest.CaptureFixture[str], replicas: str) -> None:
    assert run([*NEW, *ASR, *CLAIMED, "--replicas", replicas]) == 2
    assert f"--replicas {replicas}: a range of at least 1" in capsys.readouterr().err


def test_models_and_replicas_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*NEW, *ASR, *CLAIMED]) == 2
    assert "--models and --replicas go together" in capsys.readouterr().err


@pytest.mark.parametrize("image", ["tritonserver", "example.org/triton:latest", "example.org:5000/triton"])
def test_an_image_that_moves_is_refused(capsys: pytest.CaptureFixture[str], image: str) -> None:
    assert run([*NEW, *ASR, "--models", "pvc://x", "--replicas", "1", "--image", image]) == 2
    assert re.search(r"--image: the image \S+ (has no tag|is the latest); name a version", capsys.readouterr().err)
    digest = f"{image}@sha256:{'0' * 64}"
    assert run([*NEW, *ASR, "--models", "pvc://x", "--replicas", "1", "--image", digest]) == 0


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ("Example.org/Bert:1", "--image: `Example.org/Bert:1` cannot be read as an image; in lower case"),
        (
            "example.org/bert:1",
            "--image: the image example.org/bert:1 does not come from mirror.example.org/k8s; mirror.",
        ),
    ],
)
def test_what_check_says_of_an_image_is_said_before_it_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, image: str, told: str
) -> None:
    file = tmp_path / "clusters/gpu-serving/cluster.yaml"
    file.parent.mkdir(parents=True)
    text = (ROOT / "clusters/gpu-serving/cluster.yaml").read_text()
    file.write_text(text.replace("  site:\n", "  site:\n    images: mirror.example.org/k8s\n"))
    asked = ["--team", "speech", "--image", image, "--port", "8080", "--replicas", "1"]
    assert run(["workload", "serve", "-C", str(tmp_path), "bert", *asked]) == 2
    assert told in capsys.readouterr().err


def test_gen_s_own_rules_find_in_a_service_only_that_the_claim_is_not_in_git(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "asr.yaml"
    assert run([*NEW, *ASR, *CLAIMED, "--replicas", "1..4", "--output", str(file)]) == 0
    check = ["check", "-C", str(ROOT), "--cluster", "gpu-serving", str(tmp_path)]
    assert run(check) == 1
    told = capsys.readouterr().out
    assert "there is no PersistentVolumeClaim search/repository" in told
    assert "4 objects, 1 error, 0 warnings" in told
    (tmp_path / "claim.yaml").write_text(CLAIM)
    assert run(check) == 0
    assert "within gpu-serving: 5 objects, 0 errors, 0 warnings" in capsys.readouterr().out


CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: repository, namespace: search}
spec: {accessModes: [ReadWriteMany], storageClassName: shared-data, resources: {requests: {storage: 100Gi}}}
"""


SERVE = ["workload", "serve", "-C", str(ROOT), "tagger", "--team", "speech", "--image", "example.org/tagger:1"]


def test_a_service_on_cpus_is_written_and_gen_s_own_rules_find_nothing_in_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "tagger.yaml"
    asked = ["--port", "8080", "--ready", "/healthz", "--models", "pvc://dataset-voices", "--memory", "4Gi"]
    image = ["--image", "registry.example.org/speech/tagger:1"]
    assert run([*SERVE, *image, *asked, "--replicas", "2..6", "--output", str(file)]) == 0
    assert "replicas may share a node" in capsys.readouterr().err
    assert run(["check", "-C", str(ROOT), "--cluster", "gpu-serving", str(tmp_path)]) == 0
    assert "within gpu-serving: 4 objects, 0 errors, 0 warnings" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["--port", "8080", "--replicas", "4..2"], "--replicas 4..2: a range of at least 1"),
        (
            ["--port", "8080", "--replicas", "1", "--image", "tagger"],
            "--image: the image docker.io/library/tagger has no tag; name a version",
        ),
        (["--port", "8080", "--replicas", "1", "--memory", "8 GB"], "--memory: `8 GB` is not an amount"),
        (["--port", "8080", "--replicas", "999"], "can never have 999 replicas"),
    ],
)
def test_a_service_on_cpus_that_can_never_be_is_told(
    capsys: pytest.CaptureFixture[str], asked: list[str], told: str
) -> None:
    assert run([*SERVE, *asked]) == 2
    assert told in capsys.readouterr().err
