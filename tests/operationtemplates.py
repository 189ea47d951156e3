"""The WorkflowTemplates of operations as clusters get them: of the reference clusters, of these with a messenger, and
of files that have what those have not.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import structs
from reference import decoded, load

from generator.components import compose
from generator.components.component import Component
from generator.components.reports.templates import workflow_templates
from generator.model.cluster import Cluster
from generator.model.monitoring import Operations

Object = dict[str, Any]
REFERENCES = ("ml50", "a30-bench", "gpu-serving")
MORE = ("backup-elsewhere", "backup-nfs", "fleet", "volume-backup-beside-bucket")
"""Files below `tests/wrong/valid/` with operations that no reference cluster has."""


def clusters() -> Iterator[Cluster]:
    """Yield the clusters."""
    for name in REFERENCES:
        yield load(name)
        yield telling(name)
    yield from (decoded(f"tests/wrong/valid/{name}.yaml") for name in MORE)


def telling(name: str = "ml50", **more: Any) -> Cluster:
    """Return a reference cluster whose operations tell a messenger how they ended."""
    cluster = load(name)
    settings = Operations(**{"via": "mattermost", "mattermost": "https://chat.example.org:8065", **more})
    return structs.replace(cluster, monitoring=structs.replace(cluster.monitoring, operations=settings))


@cache
def templates() -> dict[str, Object]:
    """Return what differs among the templates of all clusters, each by the cluster, its namespace and its name."""
    found: dict[str, Object] = {}
    for cluster in clusters():
        for component in compose(cluster):
            for one in workflow_templates(component):
                made = patched(component, one)
                if made not in found.values():
                    told = " told" if cluster.monitoring.operations else ""
                    found[f"{cluster.name}{told}: {made['metadata']['namespace']}/{made['metadata']['name']}"] = made
    return found


def patched(component: Component, template: Object) -> Object:
    """Return a template with the patches that are its."""
    patches = [one for one in component.patches if one.target["name"] == template["metadata"]["name"]]
    made: Object = json.loads(json.dumps(template))
    for one in (one for patch in patches for one in patch.operations):
        *way, last = one["path"].split("/")[1:]
        at: Any = made
        for key in way:
            at = at[int(key)] if isinstance(at, list) else at[key]
        if one["op"] == "remove":
            del at[last]
        elif last == "-":
            at.append(one["value"])
        else:
            at[last] = one["value"]
    return json.loads(json.dumps(made))  # type: ignore[no-any-return]
