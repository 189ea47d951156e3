"""The jobs that `gen init --ci` writes, run: every command of every job, in a clone with a change on a branch."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from forgeworld import TOKEN, Answer, Sent, Server, forge, note, whose
from gitworld import FILE, ROOT, Person

QUOTA = ("bench: {gpus: 2}", "bench: {gpus: 1}")


class Step(NamedTuple):
    """Commands of a job that run in one shell, with their environment."""

    job: str
    text: str
    env: Mapping[str, str]


def steps(root: Path, kind: str) -> Iterator[Step]:
    """Read the jobs as their server does."""
    if kind == "gitlab":
        top = yaml.load((root / ".gitlab-ci.yml").read_text(), yaml.CSafeLoader)
        found = yaml.load((root / top["include"][0]["local"]).read_text(), yaml.CSafeLoader)
        shared = found.pop(".gen")
        assert shared["variables"]["GIT_DEPTH"] == "0"
        for name, job in found.items():
            assert job["extends"] == ".gen"
            # GitLab's runner runs all lines in one shell, with set -eo pipefail.
            yield Step(name, "\n".join([*shared["before_script"], *job["script"]]), shared["variables"])
        return
    found = yaml.load((root / f".{kind}/workflows/gen.yaml").read_text(), yaml.CSafeLoader)
    for name, job in found["jobs"].items():
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout"):
                assert step["with"]["fetch-depth"] == 0
            if "run" in step:
                env = {key: TOKEN if "{{" in value else value for key, value in step.get("env", {}).items()}
                yield Step(name, step["run"], {**found["env"], **env})


def environment(person: Person, kind: str, server: Server, folder: Path) -> dict[str, str]:
    """Return what such a job finds around it; `gen` is this one, and pip installs nothing, and that not within the
    checkout: a folder there that is called as the requirement would be taken for it.
    """
    (folder / "bin").mkdir(exist_ok=True)
    pip = f'[ "$2" = "$GEN" ] || exit 1; case "$PWD/" in "{person.root.resolve()}/"*) echo "pip in $PWD"; exit 1;; esac'
    for name, text in (("gen", f'exec {sys.executable} -P -m generator "$@"'), ("pip", pip)):
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / "bin" / name).chmod(0o755)
    mine = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    if kind == "gitlab":
        base = person.git("merge-base", "origin/main", "HEAD")
        about = {"GITLAB_CI": "true", "CI_SERVER_URL": server.url, "CI_PROJECT_PATH": "lab/clusters"}
        about |= {"CI_MERGE_REQUEST_IID": "7", "GITLAB_TOKEN": TOKEN, "CI_MERGE_REQUEST_DIFF_BASE_SHA": base}
        return mine | about
    about = {"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": server.url, "GITHUB_REPOSITORY": "lab/clusters"}
    about |= {"GITHUB_REF": "refs/pull/7/merge", "GITHUB_BASE_REF": "main", "RUNNER_TEMP": str(folder)}
    about |= {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")} | (
        {"GITEA_ACTIONS": "true"} if kind == "gitea" else {}
    )
    return mine | about


def run_all(person: Person, kind: str, server: Server, folder: Path) -> dict[str, tuple[int, str]]:
    """Run every step; returns, by job, the first status that is not 0 and what was said."""
    env = environment(person, kind, server, folder)
    found: dict[str, tuple[int, str]] = {}
    for step in steps(person.root, kind):
        if found.get(step.job, (0, ""))[0]:
            continue
        argv = ["bash", "-eo", "pipefail", "-c", step.text]
        done = subprocess.run(
            argv, cwd=person.root, env={**env, **step.env}, check=False, capture_output=True, text=True
        )
        said = found.get(step.job, (0, ""))[1] + done.stdout + done.stderr
        assert TOKEN not in said
        found[step.job] = (done.returncode, said)
    return found


def answering(kind: str) -> Answer:
    def answer(sent: Sent) -> tuple[int, Any]:
        if found := whose(kind, sent):
            return found
        return (200, [note(kind, 2, "<!-- gen diff -->\nold")]) if sent.method == "GET" else (200, {"id": 2})

    return answer


KINDS = ("github", "gitlab", "gitea")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def begin(person: Person, kind: str) -> None:
    said = person.gen("init", "--ci", kind, "--owner", "storage=@lab/storage")
    assert said.code == 0, said.err
    person.git("add", "-A")
    person.git("commit", "-qm", "CI")
    person.git("push", "-q")
    person.git("switch", "-q", "-c", "change")


def test_a_change_that_is_right_passes_and_is_commented(ann: Person, kind: str, tmp_path: Path) -> None:
    begin(ann, kind)
    ann.edit(*QUOTA)
    assert ann.gen("commit").code == 0
    with forge(kind, answering(kind)) as server:
        found = run_all(ann, kind, server, tmp_path)
    assert {job: status for job, (status, _) in found.items()} == dict.fromkeys(found, 0), found
    assert [one.method for one in server.sent] == ["GET", "GET", "PUT" if kind == "gitlab" else "PATCH"]
    assert server.sent[-1].body["body"].startswith("<!-- gen diff -->\n")
    assert "ClusterQueue" in server.sent[-1].body["body"]


def test_a_comment_that_fails_fails_no_job(ann: Person, kind: str, tmp_path: Path) -> None:
    """The job judges the change: a token that ran out says nothing of it."""
    begin(ann, kind)
    ann.edit(*QUOTA)
    assert ann.gen("commit").code == 0
    with forge(kind, lambda _: (401, {"message": "expired"})) as server:
        status, said = run_all(ann, kind, server, tmp_path)["gen diff" if kind == "gitlab" else "diff"]
    assert status == 0, said
    assert "expired" in said
    assert re.search("gen diff is in (?:this log|the summary of this job) only", said)


def test_a_change_that_is_not_rendered_fails(ann: Person, kind: str, tmp_path: Path) -> None:
    begin(ann, kind)
    ann.edit(*QUOTA)
    ann.git("commit", "-qam", "only the cluster file")
    with forge(kind, answering(kind)) as server:
        found = run_all(ann, kind, server, tmp_path)
    status, said = found["gen render" if kind == "gitlab" else "check"]
    assert status == 1
    assert "would change" in said


def test_a_wrong_cluster_file_fails_with_its_line(ann: Person, kind: str, tmp_path: Path) -> None:
    begin(ann, kind)
    ann.edit("podCIDR: 10.244.0.0/16", "podCIDR: 10.96.0.0/16")
    ann.git("commit", "-qam", "careless")
    with forge(kind, answering(kind)) as server:
        found = run_all(ann, kind, server, tmp_path)
    status, said = found["gen check" if kind == "gitlab" else "check"]
    assert status == 1
    assert FILE in said
    if kind == "gitlab":
        assert "GEN-NET" in (ann.root / "gl-code-quality-report.json").read_text()


def test_what_nobody_approved_fails_and_is_commented_until_somebody_does(
    ann: Person, kind: str, tmp_path: Path
) -> None:
    place = ann.root / "overlays/a30-bench/queues/custom"
    text = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: kueue-system}\nspec:\n"
    text += "  serviceName: ONE\n  selector: {matchLabels: {a: b}}\n  template:\n"
    text += "    metadata: {labels: {a: b}}\n    spec: {containers: [{name: a, image: example.org/a:1}]}\n"
    (place / "db.yaml").write_text(text)
    kustomization = place / "kustomization.yaml"
    kustomization.write_text(kustomization.read_text().replace("resources: []\n", "") + "\nresources: [db.yaml]\n")
    begin(ann, kind)
    (place / "db.yaml").write_text(text.replace("ONE", "two"))
    ann.git("commit", "-qam", "rename")
    job = "gen diff" if kind == "gitlab" else "diff"
    with forge(kind, answering(kind)) as server:
        assert run_all(ann, kind, server, tmp_path)[job][0] == 3
    needed = "GEN-CHG-010:a30-bench/StatefulSet/kueue-system/db"
    assert "GEN-CHG-010" in server.sent[-1].body["body"]
    ann.git("commit", "-q", "--allow-empty", "-m", f"Approve\n\nGen-Allow: {needed} nobody uses it")
    with forge(kind, answering(kind)) as server:
        assert run_all(ann, kind, server, tmp_path)[job][0] == 0


def test_permissions_are_the_least(ann: Person) -> None:
    begin(ann, "github")
    found = yaml.load((ann.root / ".github/workflows/gen.yaml").read_text(), yaml.CSafeLoader)
    assert found["permissions"] == {"contents": "read"}
    assert "permissions" not in found["jobs"]["check"]
    assert found["jobs"]["diff"]["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert found[True] == "pull_request", "never pull_request_target: it would run a stranger's code with our token"
    uses = [step for job in found["jobs"].values() for step in job["steps"] if "uses" in step]
    assert all("@v" in step["uses"] for step in uses)
    assert all(step["with"]["persist-credentials"] is False for step in uses if "checkout" in step["uses"])
    texts = [step.get("run", "") for job in found["jobs"].values() for step in job["steps"]]
    assert not any("${{" in text for text in texts), "what others write is never part of a command"
