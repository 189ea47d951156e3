"""What real charts put on the host's network, with gen's own values, against what components say of their ports."""

import subprocess
from pathlib import Path

import pytest
import yaml
from firewalled import behind
from msgspec import structs
from reference import load

from generator.build.objects import Built, Object
from generator.build.pods import pods
from generator.components import compose
from generator.model.cluster import Cluster
from generator.rules.node_ports import let_in, taken_once

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

CHARTS = {
    "cilium": "cilium",
    "cert-manager": "cert-manager",
    "metrics-server": "metrics-server",
    "node-feature-discovery": "node-feature-discovery",
}
"""Components, by the source of `tools/sources.py` that has their chart."""
CLUSTERS = [behind(load(name)) for name in ("ml50", "a30-bench", "gpu-serving")]


def inflated(cluster: Cluster, folder: Path) -> Built:
    """Return what the charts make of a cluster."""
    from apiserver import programs, sources

    (helm,) = programs("helm")
    found = []
    for component in compose(cluster):
        for release in component.releases if component.name in CHARTS else ():
            values = folder / f"{component.name}.yaml"
            values.write_text(yaml.safe_dump(release.values))
            chart = str(sources(CHARTS[component.name]))
            given = ("--kube-version", cluster.kubernetes.version, "--values", str(values))
            command = [helm, "template", release.name, chart, "--namespace", release.namespace, *given]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            found += [
                Object(one, component.name, "x.yaml") for one in yaml.load_all(done.stdout, yaml.CSafeLoader) if one
            ]
    return Built(name=cluster.name, cluster=cluster, objects=tuple(found))


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda cluster: cluster.name)
def test_what_charts_listen_on_at_nodes_is_let_in_or_closed_for_a_reason(cluster: Cluster, tmp_path: Path) -> None:
    built = inflated(cluster, tmp_path)
    on_host = {pod.maker.name for pod in pods(built) if pod.spec.get("hostNetwork") is True}
    assert cluster.networks.cni == "calico" or {"cilium", "cilium-envoy", "cilium-operator"} <= on_host
    assert [finding.message for finding in let_in.findings(built)] == []
    assert [finding.message for finding in taken_once.findings(built)] == []


def test_a_port_that_moves_by_the_users_values_is_told(tmp_path: Path) -> None:
    values = {"hubble": {"peerService": {"targetPort": 4299}}}
    settings = structs.replace(CLUSTERS[0].settings("cilium"), values=values)
    built = inflated(structs.replace(CLUSTERS[0], components={"cilium": settings}), tmp_path)
    assert [one.message for one in let_in.findings(built) if "4299" in one.message]
