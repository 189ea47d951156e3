"""How much memory the plan of an operation takes in a large cluster, and how it reads lists that are long."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from nodeshelf import imported

COUNT = 12_000
"""Pods that run. Kubernetes keeps as many that have ended, too."""
BOUND = 160
"""MiB: a step may have 256, of which what it does besides takes some."""
PROGRAM = """
import json, re, sys
from pathlib import Path

import api, standing
from planning import Machine

POD = sys.stdin.read()

class Client(api.Api):
    def __init__(self):
        pass

    def send(self, method, path, body=None, form=""):
        if path.startswith("/api/v1/pods?"):
            assert "status.phase%21%3DSucceeded" in path, path
            start = int(path.partition("continue=")[2].partition("&")[0] or 0)
            size = int(path.partition("limit=")[2].partition("&")[0])
            items = ",".join(POD.replace("NUMBER", str(number)) for number in range(start, start + size))
            more = start + size if start + size < COUNT else ""
            return f'{{"metadata": {{"continue": "{more}"}}, "items": [{items}]}}'.encode()
        owner = {"kind": "Job", "name": "train", "uid": "train"}
        return json.dumps({"metadata": {"name": "train", "namespace": "a", "ownerReferences": [owner]}, "spec": {}})

machines = [Machine("gpu-01", {}, None)]
for words in (*standing.jobs(Client(), machines), *standing.alone(Client(), machines)):
    print(words)
# Not `ru_maxrss`: that counts what the process had before it became this program, which are the tests.
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10)
"""


@pytest.fixture(autouse=True)
def _scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from imported(tmp_path, monkeypatch)


def pod() -> str:
    """Return a pod of a job as large as many are, in JSON, with `NUMBER` in its name."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "train", "controller": True}
    metadata = {
        "name": "train-NUMBER",
        "namespace": "a",
        "uid": "uid-NUMBER",
        "labels": {f"label-{number}.example.org/name": f"value-NUMBER-{number}" for number in range(8)},
        "annotations": {"kueue.x-k8s.io/workload": "train"},
        "ownerReferences": [owner],
        "managedFields": [{"fieldsV1": {f"f:{number}": {"f:x": {}, "f:y": {}} for number in range(40)}}],
    }
    variables = [{"name": f"VARIABLE_{number}", "value": f"some-value-NUMBER-{number}"} for number in range(60)]
    spec = {"nodeName": "gpu-01", "containers": [{"name": "main", "image": "a/b:1", "env": variables}]}
    conditions = [{"type": f"Type-{number}", "status": "True", "message": "x" * 100} for number in range(12)]
    return json.dumps({"metadata": metadata, "spec": spec, "status": {"phase": "Running", "conditions": conditions}})


def test_a_plan_reads_all_pods_of_a_large_cluster_with_the_memory_of_its_step(tmp_path: Path) -> None:
    assert 7_000 < len(pod()) < 8_500, "bytes, as pods of jobs are"
    program = f"COUNT = {COUNT}\n{PROGRAM}"
    command = [sys.executable, "-B", "-c", program]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, input=pod(), env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *said, most = done.stdout.splitlines()
    assert said == ["would stop whole and queue again, unless they end before: a/train"]
    assert int(most) < BOUND


def test_a_list_is_read_page_by_page_and_one_that_is_known_no_more_anew() -> None:
    import api  # type: ignore[import-not-found]

    asked = []

    class Paged(api.Api):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

        def send(self, _method: str, path: str, *_: Any) -> bytes | None:
            query = dict(parse_qsl(urlsplit(path).query))
            asked.append(query)
            if path.startswith("/apis/unknown"):
                return None
            more = {"": "a", "a": "b", "b": ""}[query.get("continue", "")]
            return json.dumps({"metadata": {"continue": more}, "items": [query.get("continue", "first")]}).encode()

    assert Paged().items("/api/v1/pods", labelSelector="x=y") == ["first", "a", "b"]
    assert [one.get("continue") for one in asked] == [None, "a", "b"]
    assert all((one["limit"], one["labelSelector"]) == ("500", "x=y") for one in asked)
    assert Paged().items("/apis/unknown/v1/things") == []
    assert isinstance(api.refusal(410, "too old"), api.Trouble), "the step is tried again"
