"""A cluster with units of leaves, made by edits from one with a node of each kind, and files in many styles."""

from typing import Any

from hypothesis import strategies as st

from generator.checks import check
from generator.edits.source import Source
from generator.model.cluster import Cluster
from generator.model.finding import Severity
from generator.spec.decode import decode
from generator.spec.document import Document
from generator.spec.reader import read

FILE = """\
# 작은 클러스터: a small cluster
apiVersion: gen/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  repository: {url: https://git.lab.example.org/clusters.git}
  site: {domain: lab.example.org}
  kubernetes:
    version: "1.35.3"
    endpoint: {address: "10.10.0.10:6443", by: kube-vip}
    podCIDR: 10.244.0.0/15
    serviceCIDR: 10.96.0.0/16
  networks:
    cni: cilium
    node: {cidr: 10.10.0.0/22, interface: eno1, gateway: 10.10.0.1}   # 노드
    storage: {cidr: 10.20.0.0/22, interface: eno2, follow: node}
    ipoib: {cidr: 10.30.0.0/22, interface: ibs1, follow: node}
    bmc: {cidr: 10.40.0.0/22, follow: node}
    loadBalancer: {range: 10.10.3.224-10.10.3.254}
  fabric:
    switches:
SWITCHES
    units:
UNITS
  pools:
    # 제어
    system: {role: control-plane, taints: [], hardware: {cpu: 16, memory: 64Gi}}
    gpu:   # eight GPUs in each
      hardware:
        cpu: 64
        memory: 512Gi
        gpu: {model: H100, count: 8, memory: 80Gi}
        # two rails
        hcas: [mlx5_0, mlx5_1]
      taints: [nvidia.com/gpu=present:NoSchedule]
      unit: su-01
  nodes:
    - {name: cp-1, pool: system, address: 10.10.0.11, rack: r1}   # 첫째
    - {name: cp-2, pool: system, address: 10.10.0.12, rack: r2}
    - {name: cp-3, pool: system, address: 10.10.0.13, rack: r3}
    # GPUs
    - {name: gpu-001, pool: gpu, address: 10.10.0.101, rack: r1, port: 1}
  # the end
"""


def lab(units: int = 2) -> str:
    """Return the cluster file with so many units of two leaves of 64 ports, half of them uplinks."""
    switches = [
        f"      - {{name: leaf-{unit:02}-{rail}, ports: 64, uplinks: 32}}"
        for unit in range(1, units + 1)
        for rail in (1, 2)
    ]
    described = [
        f"      su-{unit:02}: {{mlx5_0: leaf-{unit:02}-1, mlx5_1: leaf-{unit:02}-2}}" for unit in range(1, units + 1)
    ]
    return FILE.replace("SWITCHES", "\n".join(switches)).replace("UNITS", "\n".join(described))


def source(text: str) -> Source:
    """Read a file that is right."""
    document = read(text.encode(), "clusters/lab/cluster.yaml")
    assert document.findings == ()
    return Source(text, document, decoded(document))


def decoded(document: Document) -> Cluster:
    cluster = decode(document)
    assert isinstance(cluster, Cluster), cluster
    return cluster


def errors(text: str) -> list[str]:
    """Return the errors of a file."""
    found = check(decoded(read(text.encode(), "f")))
    return [f"{each.code} {each.message}" for each in found if each.severity == Severity.ERROR]


@st.composite
def written(draw: st.DrawFn, text: str) -> str:
    """Write the same file in another style: line ends, a byte order mark, comments of Korea, nodes as blocks."""
    lines = text.split("\n")
    nodes = lines.index("  nodes:")
    for index in range(nodes + 1, len(lines)):
        if lines[index].startswith("    - {"):
            lines[index] = draw(st.sampled_from([lines[index], _block(lines[index]), lines[index] + "  # 여기 - {x"]))
    text = "\n".join(lines)
    text = text.removesuffix("\n") if draw(st.booleans()) else text
    text = text.replace("\n", "\r\n") if draw(st.booleans()) else text
    return draw(st.sampled_from(["", "\ufeff"])) + text


def _block(line: str) -> str:
    item: dict[str, Any] = read(f"nodes:\n{line.partition('   #')[0]}\n", "f").value["nodes"][0]
    pairs = [f"{key}: {value}" for key, value in item.items()]
    return "    - " + "\n      # 설명\n      ".join(pairs)
