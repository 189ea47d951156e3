"""The section `kubernetes`: what kubeadm wrote down, else what the control plane's flags and objects show."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from generator.components.common import API_PORT
from generator.model.base import Host
from generator.model.fields import amount, dig, mapping, sequence
from generator.model.quantity import Quantity
from generator.survey.machines import SeenNode
from generator.survey.notes import Notes
from generator.survey.seen import Seen, arguments, fits, text

Plain: TypeAlias = dict[str, Any]
Networks: TypeAlias = list[IPv4Network | IPv6Network]
AT = "kubernetes"
KUBEADM = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
MOVERS = ("kube-vip", "keepalived")
"""What moves the endpoint's address between nodes: so the names of its images end."""


def kubernetes(seen: Seen, seen_nodes: list[SeenNode], notes: Notes) -> Plain:
    """Return the section."""
    kubeadm = seen.config("kubeadm-config", "ClusterConfiguration")
    if not kubeadm and KUBEADM not in seen.refused:
        notes.found((AT,), "no ConfigMap kubeadm-config: not made by kubeadm; gen's bootstrap files are for kubeadm")
    kubelet = seen.config("kubelet-config", "kubelet")
    domain = text(kubeadm, "networking", "dnsDomain") or text(kubelet, "clusterDomain")
    found: Plain = {
        "version": _version(seen, kubeadm, notes),
        "endpoint": _endpoint(seen, kubeadm, seen_nodes, notes),
        **_networks(seen, kubeadm, notes),
        "nodeMask": _mask(seen),
        "maxPods": _most_pods(seen, kubelet),
        "dnsDomain": domain if fits(domain, Host) else "",
        "encryption": _encryption(seen, notes),
        "podSecurity": _pod_security(seen, notes),
        "etcd": _etcd(kubeadm),
        "reserved": _reserved(kubelet, notes),
    }
    return {key: value for key, value in found.items() if value not in ("", None, {}) and value != DEFAULTS.get(key)}


DEFAULTS = {"nodeMask": 24, "maxPods": 110, "dnsDomain": "cluster.local", "encryption": "secretbox"}


def _version(seen: Seen, kubeadm: Plain, notes: Notes) -> str:
    served = text(seen.get("/version"), "gitVersion") or text(kubeadm, "kubernetesVersion")
    match = re.match(r"v?(1\.[0-9]+\.[0-9]+)(.*)", served)
    if not match:
        notes.unknown((AT, "version"), "the server does not say its version")
        return "1.35.3"
    if match[2]:
        notes.found((AT, "version"), f"the server calls itself {served}: a distribution of its own")
    kubelets = {text(node, "status", "nodeInfo", "kubeletVersion") for node in seen.nodes}
    if kubelets := kubelets - {"", f"v{match[1]}{match[2]}"}:
        notes.found((AT, "version"), f"some kubelets are of another version: {', '.join(sorted(kubelets))}")
    return match[1]


def _endpoint(seen: Seen, kubeadm: Plain, seen_nodes: list[SeenNode], notes: Notes) -> Plain:
    at = (AT, "endpoint")
    given = text(kubeadm, "controlPlaneEndpoint")
    address = given if ":" in given or not given else f"{given}:{API_PORT}"
    controls = [machine.address for machine in seen_nodes if machine.control]
    if not re.fullmatch(r"[a-z0-9.-]+:[0-9]{2,5}", address):
        address = _asked(seen, controls)
        notes.unknown(at, "what nodes reach the API server by: this is what was asked, or the first control-plane node")
    repositories = [repository for _, repository, _ in seen.images()]
    by = next((name for name in MOVERS if any(one.endswith(name) for one in repositories)), "external")
    if by == "external" and len(controls) > 1:
        notes.unknown(at, "what keeps this address up: no pod of kube-vip or keepalived is there")
    return {"address": address, "by": by}


def _asked(seen: Seen, controls: list[str]) -> str:
    """Return the address that was asked, unless it is this machine's own."""
    asked = urlsplit(seen.running.host)
    host, port = (asked.hostname or "").lower(), asked.port or 443
    if re.fullmatch(r"[a-z0-9.-]+", host) and not host.startswith("127.") and host != "localhost":
        return f"{host}:{port}"
    return f"{controls[0] if controls else '192.0.2.1'}:{API_PORT}"


def _networks(seen: Seen, kubeadm: Plain, notes: Notes) -> Plain:
    pods, services = pod_networks(seen, kubeadm, notes), _services(seen, kubeadm, notes)
    found: Plain = {}
    for key, networks, instead in (("podCIDR", pods, "10.244.0.0/16"), ("serviceCIDR", services, "10.96.0.0/12")):
        first = next((one for one in networks if one.version == 4), None)
        if not first:
            notes.unknown((AT, key), "no IPv4 network is to be seen; this is what kubeadm's documentation has")
        found[key] = str(first or instead)
    for key, networks in (("podCIDR6", pods), ("serviceCIDR6", services)):
        found[key] = str(next((one for one in networks if one.version == 6), ""))
    return found


def pod_networks(seen: Seen, kubeadm: Plain, notes: Notes) -> Networks:
    """Return the pod networks, of each family the first: as kubeadm was told, else as who gives nodes their slices, or
    pods their addresses, was told, else as nodes have them.
    """
    proxy = seen.config("kube-proxy", "config.conf")
    pools = [one for group in ("crd.projectcalico.org", "projectcalico.org") for one in seen.of_group(group, "ippools")]
    given = (
        parsed(text(kubeadm, "networking", "podSubnet")),
        parsed(seen.flags("kube-controller-manager").get("cluster-cidr", "")),
        parsed(" ".join(text(seen.config("cilium-config"), f"cluster-pool-ipv{n}-cidr") for n in (4, 6))),
        parsed(" ".join(text(one, "spec", "cidr") for one in pools if _for_pods(one))),
        parsed(text(proxy, "clusterCIDR")),
    )
    if found := next((one for one in given if one), []):
        return found
    slices = [parsed(text(node, "spec", "podCIDR")) for node in seen.nodes]
    if around := [*_around([one for each in slices for one in each if one.version == 4])]:
        notes.unknown((AT, "podCIDR"), f"how large it is: {around[0]} is the smallest that holds the nodes' slices")
        return around
    return []


def _for_pods(pool: Plain) -> bool:
    uses = dig(pool, "spec", "allowedUses")
    return uses is None or "Workload" in sequence(uses)


def _services(seen: Seen, kubeadm: Plain, notes: Notes) -> Networks:
    """Return the networks of Services. Since Kubernetes 1.33 an object says them."""
    ranges = seen.of_group("networking.k8s.io", "servicecidrs")
    said = [str(one) for each in ranges for one in sequence(dig(each, "spec", "cidrs"))]
    given = (
        parsed(text(kubeadm, "networking", "serviceSubnet")),
        parsed(seen.flags("kube-apiserver").get("service-cluster-ip-range", "")),
        parsed(" ".join(said)),
    )
    if found := next((one for one in given if one), []):
        return found
    address = text(seen.get("/api/v1/namespaces/default/services/kubernetes"), "spec", "clusterIP")
    if around := parsed(f"{address}/16" if "." in address else ""):
        notes.unknown((AT, "serviceCIDR"), f"how large it is: the Service `kubernetes` has {address}")
        return around
    return []


def parsed(text: str) -> Networks:
    """Return the networks that a text names, with commas or blanks between; what is none is passed over."""
    found: Networks = []
    for word in re.split(r"[,\s]+", text):
        with suppress(ValueError):
            found.append(ip_network(word, strict=False))
    return found


def _around(slices: Iterable[IPv4Network | IPv6Network]) -> Iterator[IPv4Network | IPv6Network]:
    """Yield the smallest network that holds all slices, if there are any."""
    found = list(collapse_addresses(one for one in slices if isinstance(one, IPv4Network)))
    while len(found) > 1:
        found = list(collapse_addresses(one.supernet() if one.prefixlen else one for one in found))
    yield from found


def _mask(seen: Seen) -> int:
    """Return the size of each node's slice."""
    flags = seen.flags("kube-controller-manager")
    told = flags.get("node-cidr-mask-size-ipv4") or flags.get("node-cidr-mask-size")
    told = told or text(seen.config("cilium-config"), "cluster-pool-ipv4-mask-size")
    slices = [one for node in seen.nodes for one in parsed(text(node, "spec", "podCIDR")) if one.version == 4]
    found = int(told) if told and told.isdecimal() else next((one.prefixlen for one in slices), 24)
    return min(max(found, 16), 28)


def _most_pods(seen: Seen, kubelet: Plain) -> int:
    given = dig(kubelet, "maxPods")
    seen_on = [amount(dig(node, "status", "capacity", "pods")) or 0 for node in seen.nodes]
    most = given if isinstance(given, int) and given else max(seen_on, default=0) // 1000
    return min(max(most or 110, 16), 500)


def _encryption(seen: Seen, notes: Notes) -> str:
    flags = seen.flags("kube-apiserver")
    if not flags:
        notes.unknown(
            (AT, "encryption"), "whether Secrets are encrypted at rest: the flags of the API server are not seen"
        )
        return ""
    if "encryption-provider-config" not in flags:
        return "none"
    notes.unknown((AT, "encryption"), "by which provider Secrets are encrypted: a file on control-plane nodes says it")
    return "secretbox"


def _pod_security(seen: Seen, notes: Notes) -> str:
    if "admission-control-config-file" not in seen.flags("kube-apiserver"):
        return "privileged"
    at = (AT, "podSecurity")
    notes.unknown(at, "what namespaces without a label may run: a file on control-plane nodes says it")
    return ""


def _etcd(kubeadm: Plain) -> Plain:
    local = mapping(dig(kubeadm, "etcd", "local"))
    found: Plain = {}
    quota = arguments(local).get("quota-backend-bytes", "")
    if quota.isdecimal() and int(quota) and int(quota) != 8 * 2**30:
        found["quota"] = str(Quantity.of(int(quota), binary=True))
    folder = text(local, "dataDir")
    if folder not in ("", "/var/lib/etcd") and re.fullmatch(r"(/[A-Za-z0-9_-]+)+", folder):
        found["dataDir"] = folder
    return found


def _reserved(kubelet: Plain, notes: Notes) -> Plain:
    """Return what kubelets keep from pods, for the system and for themselves."""
    if not kubelet:
        notes.unknown((AT, "reserved"), "what kubelets keep from pods; 2 CPUs and 8Gi are assumed")
        return {}
    kept = {key: _kept(kubelet, key) for key in ("cpu", "memory")}
    written = {key: str(Quantity(milli, binary=key == "memory")) for key, milli in kept.items()}
    if written == {"cpu": "2", "memory": "8Gi"}:
        return {}
    return {key: int(value) if value.isdecimal() else value for key, value in written.items()}


def _kept(kubelet: Plain, key: str) -> int:
    return sum(amount(dig(kubelet, part, key)) or 0 for part in ("systemReserved", "kubeReserved"))
