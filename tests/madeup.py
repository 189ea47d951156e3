"""Small manifests for tests of built objects, each in a file named by its number, and ways into a cluster."""

from pathlib import Path
from typing import Any

import yaml
from msgspec import structs

from generator.build.objects import Built, Object
from generator.components.component import Manifest
from generator.live.api import ApiConnection, Request
from generator.live.apiserver import Started
from generator.model.finding import Finding

CRD = "CustomResourceDefinition"


def made(*manifests: Manifest, **given: Any) -> Built:
    """A folder with these objects, each in a file of its own."""
    objects = tuple(Object(one, "", f"{number}.yaml") for number, one in enumerate(manifests))
    return structs.replace(Built(name="folder", cluster=None, objects=objects), **given)


def config(name: str = "a", namespace: str = "default", **more: Any) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}, **more}


def space(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def deployment(label: str = "a") -> Manifest:
    template = {"metadata": {"labels": {"app": label}}, "spec": {"containers": [{"name": "main", "image": "x:1"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": label}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": spec,
    }


def definition(kind: str, plural: str, **spec: Any) -> Manifest:
    """A CRD of the group example.org with one field, `spec.size`."""
    size = {"type": "object", "properties": {"size": {"type": "integer", "maximum": 9}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": size}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": CRD,
        "metadata": {"name": f"{plural}.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
            **spec,
        },
    }


def widget(version: str = "v1", **spec: Any) -> Manifest:
    metadata = {"name": "a", "namespace": "default"}
    return {"apiVersion": f"example.org/{version}", "kind": "Widget", "metadata": metadata, "spec": spec}


def told(problems: tuple[Finding, ...]) -> list[tuple[str, str, tuple[str | int, ...]]]:
    return [(problem.code, problem.file, problem.at) for problem in problems]


def store(api: ApiConnection, path: str, manifest: Manifest) -> None:
    answer = api.ask(Request(path=f"{path}?fieldManager=test&force=true", method="PATCH", body=manifest))
    assert answer.good, answer


def kubeconfig(folder: Path, started: Started, *, token: str | None = None, **cluster: Any) -> Path:
    own = {"server": started.url, "certificate-authority": str(started.certificate), **cluster}
    user = {"token": started.token if token is None else token}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "here", "cluster": own}],
        "users": [{"name": "me", "user": user}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path
