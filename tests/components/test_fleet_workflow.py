"""A fleet rendered by pods: who holds the key, what a step gets, and what its script does, step by step on real Git."""

import re
from pathlib import Path
from typing import Any

import pytest
from fleetrun import Run, git
from msgspec import structs
from reference import without_backups, without_operations
from validation.schemas import problems

from generator.checks.volumes import parts_shared
from generator.cli import run
from generator.components import compose
from generator.components.argo_workflows import DEFINITION as ARGO_WORKFLOWS
from generator.components.fleet import DEFINITION, NAMESPACE, fleet
from generator.components.fleet.install import key, scripts
from generator.model.cluster import Cluster
from generator.model.gitops import Fleet
from generator.repository.scaffold import starter

IMAGE = "registry.example.org/platform/gen:0.1"
NAMES = ("one", "two", "three")


def rendering(cluster: Cluster, **settings: Any) -> Cluster:
    given = Fleet(**{"image": IMAGE, "storage_class": "shared-fast", **settings})
    return structs.replace(cluster, gitops=structs.replace(cluster.gitops, fleet=given))


def template(cluster: Cluster) -> dict[str, Any]:
    made = fleet(rendering(cluster)).objects[0]
    assert made["kind"] == "WorkflowTemplate"
    return made


def steps(cluster: Cluster) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in template(cluster)["spec"]["templates"] if "container" in one}


def test_a_cluster_that_is_not_told_so_renders_no_fleet(ml50: Cluster) -> None:
    assert not DEFINITION.wanted(ml50)
    assert not ARGO_WORKFLOWS.wanted(without_operations(ml50))
    assert {"fleet", "argo-workflows"} <= {one.name for one in compose(rendering(without_backups(ml50)))}


def test_objects_are_accepted(ml50: Cluster) -> None:
    made = fleet(rendering(ml50))
    assert [problem for one in (*made.base, *made.objects, scripts()) for problem in problems(one)] == []
    assert problems({**template(ml50), "spec": {**template(ml50)["spec"], "entrypont": "fleet"}})


def test_only_who_talks_to_the_repository_holds_the_key(ml50: Cluster) -> None:
    holders = {
        name: {one["name"] for one in step["container"]["volumeMounts"]} & {"git", "ca"}
        for name, step in steps(ml50).items()
    }
    assert holders == {"clone": {"git", "ca"}, "part": {"ca"}, "join": set(), "check": set(), "push": {"git", "ca"}}
    volumes = {one["name"]: one for one in template(ml50)["spec"]["volumes"]}
    assert volumes["git"]["secret"]["secretName"] == key(ml50).name
    assert volumes["ca"]["configMap"]["name"] == fleet(rendering(ml50)).objects[1]["metadata"]["name"]


def test_the_key_is_of_the_kind_that_the_url_asks_for(ml50: Cluster) -> None:
    assert key(ml50).keys == ("username", "password")
    for url in ("ssh://git@git.example.org/clusters.git", "git@git.example.org:clusters.git"):
        over = structs.replace(ml50, repository=structs.replace(ml50.repository, url=url))
        assert key(over).keys == ("sshPrivateKey", "knownHosts")


def test_its_account_may_report_results_and_nothing_else(ml50: Cluster) -> None:
    made = fleet(rendering(ml50))
    (role,) = [one for one in made.base if one["kind"] == "Role"]
    assert role["rules"] == [
        {"apiGroups": ["argoproj.io"], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]}
    ]
    assert {one["metadata"]["namespace"] for one in (*made.base, *made.objects, scripts())} == {NAMESPACE}


def test_every_step_runs_the_image_of_the_file_without_rights(ml50: Cluster) -> None:
    for step in steps(ml50).values():
        container = step["container"]
        assert container["image"] == IMAGE
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]["memory"]


def test_steps_get_what_the_script_reads_in_them(ml50: Cluster) -> None:
    text = scripts()["data"]["fleet.sh"]
    bodies = dict(re.findall(r"^(\w+)\(\) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL))
    rest = re.sub(r"^\w+\(\) \{\n.*?^\}", "", text, flags=re.MULTILINE | re.DOTALL)
    for name, step in steps(ml50).items():
        called = bodies[name] + "".join(bodies[one] for one in ("tree", "reach") if f"  {one}\n" in bodies[name])
        read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", called + rest)) - {"BASH_SOURCE", "SECRETS", "AUTHORITIES"}
        read -= {"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"}
        assert read <= {one["name"] for one in step["container"]["env"]}, name


def test_parts_are_as_many_as_the_file_says(ml50: Cluster) -> None:
    spec = fleet(rendering(ml50, shards=24)).objects[0]["spec"]
    given = {one["name"]: one["value"] for one in spec["arguments"]["parameters"]}
    assert given["shards"] == "24"
    order = [one for group in spec["templates"][0]["steps"] for one in group]
    assert [one["name"] for one in order] == ["clone", "part", "join", "check", "push"]
    counted = {one["name"]: one["withSequence"]["end"] for one in order if "withSequence" in one}
    assert counted == dict.fromkeys(("part", "check"), "{{workflow.parameters.shards}}")


def test_all_pods_share_one_volume(ml50: Cluster) -> None:
    (volume,) = template(ml50)["spec"]["volumeClaimTemplates"]
    assert volume["spec"]["accessModes"] == ["ReadWriteMany"]
    assert volume["spec"]["storageClassName"] == "shared-fast"
    assert not [*parts_shared.findings(rendering(ml50))]
    (finding,) = parts_shared.findings(rendering(ml50, storage_class="rbd-nvme"))
    assert "rbd-nvme is mounted by one node at a time" in finding.message
    assert "shared-fast" in finding.fix


def test_a_site_with_a_proxy_is_gone_through(ml50: Cluster) -> None:
    from generator.model.site import Proxy

    site = structs.replace(ml50.site, proxy=Proxy(http="http://proxy.example.org:3128"))
    env = steps(structs.replace(ml50, site=site))["clone"]["container"]["env"]
    assert {"name": "HTTPS_PROXY", "value": "http://proxy.example.org:3128"} in env


# The script


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """The repository at its server: three clusters, rendered, of which one has changed."""
    root = tmp_path / "source"
    for second, name in enumerate(NAMES, 11):
        file = root / "clusters" / name / "cluster.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(starter(name).decode().replace("10.10.", f"10.{second}."))
    git(root, "init", "-q", "-b", "main")
    assert run(["render", "-C", str(root)]) == 0
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    file.write_text(file.read_text().replace("gpus: 8", "gpus: 4"))
    git(root, "commit", "-q", "-a", "-m", "fewer")
    server = tmp_path / "server.git"
    git(tmp_path, "clone", "-q", "--bare", str(root), str(server))
    return server


def test_a_run_pushes_one_commit_for_review(origin: Path, tmp_path: Path) -> None:
    made = Run(tmp_path / "pod", str(origin))
    assert made.whole() == [0] * 7
    assert git(origin, "log", "--format=%an %ae %s", "main..gen/fleet") == "gen gen@example.org Render all clusters"
    assert git(origin, "diff", "--name-only", "main", "gen/fleet").splitlines() == [
        "overlays/three/queues/clusterqueue-research.yaml",
        "overlays/three/queues/cohort-teams.yaml",
    ]
    clone = tmp_path / "after"
    git(tmp_path, "clone", "-q", "--branch", "gen/fleet", str(origin), str(clone))
    assert run(["render", "-C", str(clone), "--check"]) == 0


def test_a_run_that_finds_nothing_pushes_nothing(origin: Path, tmp_path: Path) -> None:
    first = Run(tmp_path / "first", str(origin), "main")
    assert first.whole() == [0] * 7
    head = git(origin, "rev-parse", "main")
    second = Run(tmp_path / "second", str(origin))
    assert second.whole() == [0] * 7
    assert git(origin, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert git(origin, "rev-parse", "main") == head


def test_steps_can_be_repeated(origin: Path, tmp_path: Path) -> None:
    made = Run(tmp_path / "pod", str(origin))
    for _ in range(2):
        assert made.step("clone").returncode == 0
    begun = made.commit
    # The second part was killed before it wrote anything, and is run again by another pod.
    assert made.step("part", PART="1").returncode == 0
    refused = made.step("join")
    assert refused.returncode == 2
    assert "2/2 missing" in refused.stderr
    for part in "221":
        assert made.step("part", PART=part).returncode == 0
    assert made.step("join").returncode == 0
    tree = git(made.folder / "work/repository.git", "rev-parse", f"{made.commit}^{{tree}}")
    made.commit = begun
    assert made.step("join").returncode == 0
    assert git(made.folder / "work/repository.git", "rev-parse", f"{made.commit}^{{tree}}") == tree
    for _ in range(2):
        assert made.step("push").returncode == 0
    assert git(origin, "rev-parse", "gen/fleet") == made.commit


def test_who_pushed_to_the_branch_meanwhile_loses_nothing(origin: Path, tmp_path: Path) -> None:
    made = Run(tmp_path / "pod", str(origin), "main")
    assert made.whole()[:-1] == [0] * 6
    git(origin, "update-ref", "refs/heads/main", git(origin, "rev-parse", "main~1"))
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(origin), str(other))
    git(other, "commit", "-q", "--allow-empty", "-m", "somebody's")
    git(other, "push", "-q", "origin", "main")
    theirs = git(origin, "rev-parse", "main")
    refused = made.step("push")
    assert refused.returncode == 1
    assert "cannot push to main; where somebody pushed there meanwhile, submit it again" in refused.stderr
    assert git(origin, "rev-parse", "main") == theirs


def test_a_wrong_cluster_is_a_verdict(origin: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    git(tmp_path, "clone", "-q", str(origin), str(work))
    file = work / "clusters/two/cluster.yaml"
    file.write_text(file.read_text().replace("domain:", "domains:"))
    git(work, "commit", "-q", "-a", "-m", "wrong")
    git(work, "push", "-q", "origin", "main")
    made = Run(tmp_path / "pod", str(origin))
    codes = [made.step("clone").returncode, *(made.step("part", PART=part).returncode for part in "12")]
    assert sorted(codes) == [0, 0, 2]
    assert made.step("join").returncode == 2


@pytest.mark.parametrize(
    ("step", "env", "code", "told"),
    [
        ("clone", {"URL": "/nowhere"}, 1, "cannot clone /nowhere"),
        ("part", {"PART": "1"}, 1, "cannot clone "),
        ("part", {"PART": "1", "HOW": "rm"}, 2, "how=rm: this is neither render nor vendor"),
        ("dance", {}, 2, "usage: fleet.sh clone|part|join|check|push"),
    ],
)
def test_trouble_is_told_from_a_verdict(tmp_path: Path, step: str, env: dict[str, str], code: int, told: str) -> None:
    done = Run(tmp_path / "pod", "/nowhere").step(step, **env)
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr


def test_the_key_stands_in_no_command_and_no_output(origin: Path, tmp_path: Path) -> None:
    made = Run(tmp_path / "pod", str(origin))
    secrets = made.folder / "git"
    secrets.mkdir()
    (secrets / "username").write_text("gen")
    (secrets / "password").write_text("a password with 'quotes' and $HOME\n")
    (made.folder / "ca.crt").write_text("a certificate\n")
    # Stands in for Git, and asks as it does.
    asking = made.folder / "bin/git"
    asking.write_text(
        '#!/bin/bash\n"$GIT_ASKPASS" "Username for https://x: "\n"$GIT_ASKPASS" "Password for https://x: "\n'
        'head -n 1 "$GIT_SSL_CAINFO"; grep -c BEGIN "$GIT_SSL_CAINFO"; echo "$@" >&2; exit 1\n'
    )
    asking.chmod(0o755)
    done = made.step("clone")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["gena password with 'quotes' and $HOME", "a certificate"]
    assert int(lines[2]) > 0
    assert "password" not in done.stderr
