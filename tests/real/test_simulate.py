"""`gen workflow simulate` on a small cluster: the operations' own steps on real Kueue, Volcano, scheduler and API
server, beside what another API server says that runs.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import start
from rehearsing import Repository, refuse_without_programs
from simulatedsite import Site

pytestmark = pytest.mark.twin

Object = dict[str, Any]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with operations on nodes."""
    refuse_without_programs()
    made = Repository(tmp_path_factory.mktemp("simulated"))
    spec = yaml.load(made.file.read_bytes(), yaml.CSafeLoader)
    spec["spec"]["gpuCare"] = {"drain": True}
    made.file.write_text(yaml.safe_dump(spec, sort_keys=False))
    done = made.gen("render")
    assert done.returncode == 0, done.stdout + done.stderr
    made.commit()
    return made


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is asked of the API server by others than its administrator."""
    folder = tmp_path_factory.mktemp("audit")
    rules: list[Object] = [{"level": "None", "userGroups": ["system:masters"]}]
    rules.append({"level": "Metadata", "omitStages": ["RequestReceived"], "userGroups": ["system:serviceaccounts"]})
    rules.append({"level": "None"})
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy))
    return folder / "log"


@pytest.fixture(scope="module")
def site(repository: Repository, log: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The cluster that is to be operated on: a gang on two nodes, a service whose budget lets no pod go."""
    flags = [f"--audit-policy-file={log.parent}/policy.yaml", f"--audit-log-path={log}", "--audit-log-mode=blocking"]
    with start(tmp_path_factory.mktemp("site"), *flags) as api:
        made = Site(api, repository)
        made.gang("red", "train", "gpu1", "gpu2")
        made.service("gpu1", "gpu3", least=2)
        made.drivers(gpu1="old", gpu2="new", gpu3="new", gpu4="new")
        yield made


def played(site: Site, *words: str) -> tuple[int, Object]:
    done = site.repository.gen(
        "workflow", "simulate", *words, "--kubeconfig", str(site.kubeconfig()), "--output", "json"
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout)


def happened(found: Object, what: str) -> list[Object]:
    return [one for one in found["events"] if one["what"] == what]


def test_a_drain_that_a_budget_would_hold_up_is_told_and_nothing_is_written(site: Site, log: Path) -> None:
    code, found = played(site, "node-removal", "-p", "node=gpu1")
    assert code == 1
    assert (found["nodes"], found["jobs"]) == (5, 1)
    (stopped,) = happened(found, "gang stopped")
    assert (stopped["node"], stopped["to"]) == ("gpu1", "Job red/train")
    assert stopped["more"] == "queue default, priority 0, 2 pods on gpu1, gpu2"
    assert happened(found, "gang queued again")
    (held,) = found["held"]
    assert held["node"] == "gpu1"
    assert held["to"] == "Deployment apps/web"
    assert "The disruption budget web needs 2 healthy pods and has 2 currently" in held["more"]
    assert found["refused"] == ["evict"]
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    assert {one["verb"] for one in asked} == {"get", "list"}
    assert not [one for one in asked if one["objectRef"]["resource"] == "secrets"]
    assert "of-the-cluster" not in json.dumps(found)


def test_an_upgrade_of_what_runs_tells_each_node_in_its_order(site: Site) -> None:
    code, found = played(site, "kubernetes-upgrade", "-p", "control-plane-outage=yes", "-p", "backup-hours=0")
    assert [one["node"] for one in happened(found, "upgraded")] == ["cp1"]
    assert code == 1


def test_maintenance_that_a_budget_holds_up_ends_there_and_lets_the_node_in_again(site: Site) -> None:
    code, found = played(site, "node-maintenance", "-p", "action=reboot", "-p", "control-plane-outage=yes")
    assert (code, found["refused"]) == (1, ["workers"])
    assert "1. pool bench: gpu1" in found["steps"][0]["said"][1]
    (stopped,) = happened(found, "gang stopped")
    assert (stopped["to"], stopped["more"]) == ("Job red/train", "queue default, priority 0, 2 pods on gpu1, gpu2")
    assert [(one["node"], one["to"]) for one in found["held"]] == [("gpu1", "Deployment apps/web")]
    assert [one["node"] for one in happened(found, "takes pods")] == ["gpu1"], "nothing was done to it"
    assert not happened(found, "its machine is done")


def test_a_driver_goes_where_a_former_one_is_and_takes_only_pods_with_gpus(site: Site) -> None:
    code, found = played(site, "driver-upgrade")
    assert code == 0, found
    assert "1 of 4 nodes with GPUs are to get it, in 1 steps" in found["steps"][0]["said"][1]
    assert [one["to"] for one in happened(found, "gang stopped")] == ["Job red/train"]
    assert [one["node"] for one in happened(found, "its driver is made anew")] == ["gpu1"]
    assert [one["node"] for one in happened(found, "its devices were tried, and are good")] == ["gpu1"]
    assert not happened(found, "evicted a pod"), "the service holds no GPU, and its budget hinders nothing"
    assert found["held"] == []


def test_samples_fill_the_queues_where_no_cluster_is_asked(repository: Repository) -> None:
    done = repository.gen("workflow", "simulate", "node-removal", "-p", "node=gpu2", "--samples")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gang stopped Job" in done.stdout
    assert "nothing stood against it" in done.stdout
