"""Rules about the control plane: its nodes, its endpoint, etcd."""

from collections.abc import Iterator

from generator.checks.places import ENDPOINT, addresses, claims, endpoint_address, free_address, free_addresses, is_host
from generator.checks.scratch import COMMON, SYSTEM, shared
from generator.components.common import API_PORT
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, Path, put
from generator.model.quantity import Quantity
from generator.model.rule import rule, warning

USUAL = "/var/lib/etcd"


@rule("GEN-K8S-001", "there is a control plane")
def control_plane_exists(cluster: Cluster) -> Iterator[Finding]:
    """Without a control-plane node there is nowhere to run the API server and etcd.

    Wrong:
        pools:
          cpu: {hardware: {cpu: 64, memory: 512Gi}}
    Right:
        pools:
          system: {role: control-plane, hardware: {cpu: 32, memory: 128Gi}}
    """
    if not cluster.control_plane:
        pool = next((name for name, pool in cluster.pools.items() if pool.role == "control-plane"), None)
        fix = f"give nodes the pool {pool}" if pool else "give a pool `role: control-plane`"
        yield Finding(at=("nodes",), key=True, message="no node is in a control-plane pool", fix=fix)


@warning("GEN-K8S-002", "an odd number of control-plane nodes")
def odd_control_plane(cluster: Cluster) -> Iterator[Finding]:
    """More than half of etcd's members must agree: an even number survives no more losses than one fewer does,
    and has one more that can fail.

    Wrong:
        - {name: cp-1, pool: system, address: 10.10.0.11}
        - {name: cp-2, pool: system, address: 10.10.0.12}
    Right:
        - {name: cp-1, pool: system, address: 10.10.0.11}
        - {name: cp-2, pool: system, address: 10.10.0.12}
        - {name: cp-3, pool: system, address: 10.10.0.13}
    """
    count = len(cluster.control_plane)
    if count and count % 2 == 0:
        at: Path = ("nodes", cluster.control_plane[-1].index)
        message = f"{count} control-plane nodes survive the loss of {(count - 1) // 2}, as {count - 1} would"
        yield Finding(at=at, message=message, fix=f"have {count - 1} or {count + 1}")


@warning("GEN-K8S-003", "at most seven control-plane nodes")
def few_control_plane(cluster: Cluster) -> Iterator[Finding]:
    """Every write to etcd waits for more than half of its members; beyond seven they only slow each other.

    Wrong:
        # nine nodes in a pool with role: control-plane
    Right:
        # three or five
    """
    count = len(cluster.control_plane)
    if count > 7:
        at: Path = ("nodes", cluster.control_plane[7].index)
        yield Finding(at=at, message=f"{count} control-plane nodes make etcd slow", fix="have 3 or 5")


@rule("GEN-K8S-004", "a moving endpoint is an address of the node network")
def endpoint_in_node_network(cluster: Cluster) -> Iterator[Finding]:
    """kube-vip and keepalived put the address onto the interface of a control-plane node and announce it by ARP,
    which only the node network hears.

    Wrong:
        node: {cidr: 10.10.0.0/22}
        # and
        endpoint: {address: "10.10.8.10:6443", by: kube-vip}
    Right:
        node: {cidr: 10.10.0.0/22}
        # and
        endpoint: {address: "10.10.0.10:6443", by: kube-vip}
    """
    endpoint, cidr, address = cluster.kubernetes.endpoint, cluster.networks.node.cidr, endpoint_address(cluster)
    if endpoint.by == "external" or (address and is_host(address, cidr)):
        return
    message = f"the endpoint {endpoint.host} of {endpoint.by} is not a host address of the node network {cidr}"
    fix, edits = _free_endpoint(cluster)
    yield Finding(at=ENDPOINT, also=("networks", "node", "cidr"), message=message, fix=fix, edits=edits)


@rule("GEN-K8S-005", "nobody else has the moving endpoint's address")
def endpoint_of_its_own(cluster: Cluster) -> Iterator[Finding]:
    """The address moves to another node when its holder fails; a node's own address cannot.

    Wrong:
        endpoint: {address: "10.10.0.10:6443", by: kube-vip}
        # and
        - {name: cp-1, pool: system, address: 10.10.0.10}
    Right:
        endpoint: {address: "10.10.0.10:6443", by: kube-vip}
        # and
        - {name: cp-1, pool: system, address: 10.10.0.11}
    """
    if cluster.kubernetes.endpoint.by == "external":
        return
    address, free = (
        endpoint_address(cluster),
        {name: free_addresses(cluster, name) for name in cluster.networks.declared},
    )
    for claim in claims(cluster):
        if claim.address != address or claim.at == ENDPOINT:
            continue
        if claim.at[0] == "nodes":
            # Everybody knows the endpoint; whoever came last is the node.
            other = next(free[claim.network]) if claim.network in free else ""
            message = f"{claim.owner} has the endpoint's address {address}"
            fix, edits = (f"{other} is free", put(claim.at, other)) if other else ("give it another address", ())
            yield Finding(at=claim.at, also=ENDPOINT, message=message, fix=fix, edits=edits)
        else:
            message = f"the endpoint {address} is the address of {claim.owner}"
            fix, edits = _free_endpoint(cluster)
            yield Finding(at=ENDPOINT, also=claim.at, message=message, fix=fix, edits=edits)


def _free_endpoint(cluster: Cluster) -> tuple[str, tuple[Edit, ...]]:
    if free := free_address(cluster, "node"):
        address = f"{free}:{cluster.kubernetes.endpoint.port}"
        return f"{address} is free", put(ENDPOINT, address)
    return "enlarge the node network", ()


@rule("GEN-K8S-006", "the endpoint's port leads to the API server")
def endpoint_port(cluster: Cluster) -> Iterator[Finding]:
    """kube-vip and keepalived move an address and no port, and the API server listens on 6443: only a load balancer
    outside may have another port.

    Wrong:
        endpoint: {address: "10.10.0.10:8443", by: kube-vip}
    Right:
        endpoint: {address: "10.10.0.10:6443", by: kube-vip}
    """
    endpoint, own = cluster.kubernetes.endpoint, {machine.address for machine in cluster.control_plane}
    is_node = endpoint.by != "external" or endpoint_address(cluster) in own
    message = ""
    if is_node and endpoint.port != API_PORT:
        message = f"nothing listens on port {endpoint.port}: the API server has {API_PORT}"
    elif not 1 <= endpoint.port <= 65535:
        message = f"{endpoint.port} is not a port (1 to 65535)"
    if message:
        yield Finding(at=ENDPOINT, message=message, edits=put(ENDPOINT, f"{endpoint.host}:{API_PORT}"))


@warning("GEN-K8S-007", "several control-plane nodes behind one address")
def endpoint_not_one_of_several(cluster: Cluster) -> Iterator[Finding]:
    """Nodes and users reach the cluster by this address alone: when that node is down, the others do not help.

    Wrong:
        # with cp-1 to cp-3, and cp-1 at 10.10.0.11
        endpoint: {address: "10.10.0.11:6443", by: external}
    Right:
        # with cp-1 to cp-3, and nobody at 10.10.0.10
        endpoint: {address: "10.10.0.10:6443", by: kube-vip}
    """
    count, address = len(cluster.control_plane), endpoint_address(cluster)
    for machine in cluster.control_plane:
        if machine.address == address and cluster.kubernetes.endpoint.by == "external" and count > 1:
            message = f"the endpoint is {machine.name} alone, one of {count} control-plane nodes"
            free = free_address(cluster, "node")
            moved = f", or {free}:{cluster.kubernetes.endpoint.port} with by: kube-vip" if free else ""
            fix = f"a load balancer's address{moved}"
            yield Finding(at=ENDPOINT, also=("nodes", machine.index, "address"), message=message, fix=fix)


@rule("GEN-K8S-008", "the endpoint leads to the control plane")
def endpoint_on_control_plane(cluster: Cluster) -> Iterator[Finding]:
    """No API server runs on a worker, and none on a control-plane node's address in another network.

    Wrong:
        endpoint: {address: "10.10.0.101:6443", by: external}
        # and
        - {name: gpu-01, pool: gpu, address: 10.10.0.101}
    Right:
        endpoint: {address: "10.10.0.11:6443", by: external}
        # and
        - {name: cp-1, pool: system, address: 10.10.0.11}
    """
    if cluster.kubernetes.endpoint.by != "external":
        return
    address, own = endpoint_address(cluster), {machine.address for machine in cluster.control_plane}
    for claim in addresses(cluster):
        if claim.address == address and address not in own:
            kind = "which is a worker" if claim.network == "node" else f"in the {claim.network} network"
            message = f"the endpoint {address} is {claim.owner}, {kind}"
            # One of several alone would be the next finding.
            edits = put(ENDPOINT, f"{min(own)}:{cluster.kubernetes.endpoint.port}") if len(own) == 1 else ()
            fix = "" if edits else "name a load balancer before the control plane"
            yield Finding(at=ENDPOINT, also=claim.at, message=message, fix=fix, edits=edits)


@warning("GEN-K8S-009", "etcd's database stays within what etcd is made for")
def etcd_quota(cluster: Cluster) -> Iterator[Finding]:
    """Beyond 8 GiB etcd warns at its start: snapshots and the return of a lost member take too long.

    Wrong:
        etcd: {quota: 16Gi}
    Right:
        etcd: {quota: 8Gi}
    """
    quota = cluster.kubernetes.etcd.quota
    if quota > Quantity.parse("8Gi"):
        at: Path = ("kubernetes", "etcd", "quota")
        yield Finding(at=at, message=f"etcd's quota {quota} exceeds 8Gi", edits=put(at, "8Gi"))


@warning("GEN-K8S-010", "control-plane nodes in several racks")
def control_plane_racks(cluster: Cluster) -> Iterator[Finding]:
    """A rack that loses power takes the cluster with it when it holds more than half of etcd's members.

    Wrong:
        - {name: cp-1, pool: system, address: 10.10.0.11, rack: r1}
        - {name: cp-2, pool: system, address: 10.10.0.12, rack: r1}
        - {name: cp-3, pool: system, address: 10.10.0.13, rack: r1}
    Right:
        - {name: cp-1, pool: system, address: 10.10.0.11, rack: r1}
        - {name: cp-2, pool: system, address: 10.10.0.12, rack: r2}
        - {name: cp-3, pool: system, address: 10.10.0.13, rack: r3}
    """
    nodes = [machine for machine in cluster.control_plane if machine.rack]
    others = {machine.rack for machine in cluster.machines if machine.rack}
    for rack in sorted({machine.rack or "" for machine in nodes}):
        here = [machine for machine in nodes if machine.rack == rack]
        if len(nodes) > 2 and len(others) > 1 and len(here) * 2 > len(nodes):
            at, also = ("nodes", here[-1].index, "rack"), ("nodes", here[0].index, "rack")
            message = f"{len(here)} of {len(nodes)} control-plane nodes are in rack {rack}"
            yield Finding(at=at, also=also, message=message, fix="spread them over racks")


@rule("GEN-K8S-011", "some node takes ordinary pods")
def some_node_untainted(cluster: Cluster) -> Iterator[Finding]:
    """Controllers, the DNS of the cluster, Argo CD and monitoring tolerate no taints of yours: with every node
    tainted they stay pending. Control-plane nodes are tainted unless their pool says `taints: []`.

    Wrong:
        pools:
          system: {role: control-plane, ...}
          gpu: {taints: [nvidia.com/gpu=present:NoSchedule], ...}
    Right:
        pools:
          system: {role: control-plane, taints: [], ...}
          gpu: {taints: [nvidia.com/gpu=present:NoSchedule], ...}
    """
    repelling = [any(taint.effect != "PreferNoSchedule" for taint in machine.taints) for machine in cluster.machines]
    if repelling and all(repelling):
        pool = next(iter(cluster.control_plane), cluster.machines[0]).pool
        fix = f"`taints: []` in pool {pool}, or workers without taints"
        message, own = "every node has a taint that keeps pods off", cluster.pools[pool].taints
        edits = put(("pools", pool, "taints"), []) if own is None else ()
        yield Finding(at=("pools",), key=True, message=message, fix=fix, edits=edits)


@rule("GEN-K8S-012", "etcd has a folder of its own")
def etcd_folder(cluster: Cluster) -> Iterator[Finding]:
    """Kubeadm makes the folder etcd's alone and empties it on `kubeadm reset`; scratch wipes what lies below its own.

    Wrong:
        etcd: {dataDir: /var/lib}
    Right:
        etcd: {dataDir: /var/lib/etcd}
    """
    folder = cluster.kubernetes.etcd.data_dir
    tiers = (cluster.storage.scratch, cluster.storage.objects)
    others = {tier.host_dir for tier in tiers if tier} | SYSTEM - {USUAL}
    taken = [other for other in sorted(others) if shared(folder, other)]
    if taken or folder in COMMON:
        other = taken[0] if taken else "whatever is mounted in it"
        message = f"etcd's dataDir {folder} shares its place with {other}"
        at = ("kubernetes", "etcd", "dataDir")
        yield Finding(at=at, message=message, edits=put(at, USUAL))
