"""Who may connect: policies that let more through, and addresses by which others come in."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from generator.kinds.network import INGRESS, SERVICE, SERVICES
from generator.kinds.policies import POLICY, directions
from generator.model.change import Beside, ObjectChange
from generator.model.connections import Allowance, Policy, lets_more, names_all, shuts_less
from generator.model.fields import dig, mapping, sequence
from generator.model.opening import OpeningRule, Opens, texts, written

_ADMINS = "policy.networking.k8s.io"
KINDS = (*POLICY, f"{_ADMINS}/AdminNetworkPolicy", f"{_ADMINS}/BaselineAdminNetworkPolicy")
GUIDE = "https://kubernetes.io/docs/concepts/services-networking/network-policies"
_GATEWAYS = "gateway.networking.k8s.io"
GATEWAY, GRANT = f"{_GATEWAYS}/Gateway", f"{_GATEWAYS}/ReferenceGrant"
ROUTES = tuple(f"{_GATEWAYS}/{one}Route" for one in ("HTTP", "GRPC", "TLS", "TCP", "UDP"))


_WAYS = (("Ingress", "ingress", "from"), ("Egress", "egress", "to"))


def read(manifest: Mapping[str, Any]) -> Policy:
    """Return what a NetworkPolicy says, or one of the administrators', whose rules say their action."""
    spec = mapping(manifest.get("spec"))
    if "subject" in spec:
        return _of_admins(spec)
    shuts = directions(manifest)
    found = [
        _allowance(way, mapping(rule), ends, peer)
        for way, key, ends in _WAYS
        for rule in (sequence(spec.get(key)) if way in shuts else ())
        for peer in sequence(dig(rule, ends)) or (None,)
    ]
    return Policy(pods=written(spec.get("podSelector") or {}), shuts=frozenset(shuts), allows=tuple(found))


def _allowance(way: str, rule: dict[str, Any], ends: str, peer: Any) -> Allowance:
    """Return what a rule lets through for one of its other ends; None where it names none, and so everybody."""
    bare_rule = {key: value for key, value in rule.items() if key != "ports"}
    if peer is None:
        return Allowance(way, written(rule), everybody=True, any_port=written(bare_rule) if rule.get("ports") else "")
    block = mapping(dig(peer, "ipBlock"))
    but = tuple(str(one) for one in sequence(block.get("except")))
    bare = {**mapping(peer), "ipBlock": {key: value for key, value in block.items() if key != "except"}}
    whole = written({**rule, ends: [bare]}) if block else ""
    any_port = written({**bare_rule, ends: [peer]}) if rule.get("ports") else ""
    return Allowance(way, written({**rule, ends: [peer]}), names_all(peer), whole, but, any_port)


def _of_admins(spec: dict[str, Any]) -> Policy:
    found = [(way, ends, mapping(rule)) for way, key, ends in _WAYS for rule in sequence(spec.get(key))]
    return Policy(
        pods=written(spec["subject"]),
        shuts=frozenset(),
        allows=tuple(
            Allowance(way, written(rule), names_all(rule.get(ends)))
            for way, ends, rule in found
            if str(rule.get("action")) in {"Allow", "Pass"}
        ),
        refuses=tuple(f"{way}: {written(rule)}" for way, _, rule in found if rule.get("action") == "Deny"),
    )


_OUTSIDE = ("NodePort", "LoadBalancer")


def _doors(service: Any) -> Iterator[str]:
    """Yield the ways from outside to a Service."""
    spec = mapping(dig(service, "spec"))
    if str(spec.get("type")) in _OUTSIDE:
        ports = ", ".join(str(dig(one, "port")) for one in sequence(spec.get("ports")))
        yield f"{spec['type']}, ports {ports}"
    yield from (f"external address {one}" for one in sequence(spec.get("externalIPs")))
    if spec.get("type") == "LoadBalancer":
        yield from (f"for {one}" for one in sequence(spec.get("loadBalancerSourceRanges")) or ("everybody",))


def lets_outside_in(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield by which new ways a Service is reached from outside."""
    before = set(_doors(change.old))
    yield from (door for door in _doors(change.new) if door not in before)


def _entries(kind: str, manifest: Any) -> Iterator[str]:
    """Yield what is reached by an Ingress, a Gateway, a route or a grant."""
    spec = mapping(dig(manifest, "spec"))
    if kind in INGRESS:
        for rule in sequence(spec.get("rules")):
            for path in sequence(dig(rule, "http", "paths")):
                yield f"{dig(rule, 'host') or 'any host'}{dig(path, 'path') or '/'}"
        if spec.get("defaultBackend"):
            yield "whatever no rule names"
    elif kind == GATEWAY:
        for one in sequence(spec.get("listeners")):
            hosts, who = dig(one, "hostname") or "any host", dig(one, "allowedRoutes", "namespaces", "from") or "Same"
            yield f"{hosts} on port {dig(one, 'port')}, routes of namespaces: {who}"
    elif kind == GRANT:
        pairs = ((one, other) for one in sequence(spec.get("from")) for other in sequence(spec.get("to")))
        yield from (f"{written(one)} may use {written(other)}" for one, other in pairs)
    else:
        gates = [str(dig(one, "name")) for one in sequence(spec.get("parentRefs"))]
        yield from (f"{host} by {gate}" for host in sequence(spec.get("hostnames")) or ("any host",) for gate in gates)


_GUARDS = ("auth", "whitelist", "allowlist", "denylist")


def _guards(manifest: Any) -> set[str]:
    noted = texts(dig(manifest, "metadata", "annotations"))
    return {f"{key}: {value}" for key, value in noted.items() if any(one in key for one in _GUARDS)}


def lets_in(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield what is reached from outside that was not, and which guards before it went."""
    before = set(_entries(change.kind, change.old))
    yield from (entry for entry in _entries(change.kind, change.new) if entry not in before)
    if change.old and change.new:
        yield from (f"without {guard.partition(':')[0]}" for guard in sorted(_guards(change.old) - _guards(change.new)))


opening = partial(OpeningRule, opens=Opens.NETWORK)

NETWORK = (
    opening(
        code="GEN-CHG-770",
        kinds=KINDS,
        gains=lambda change, _beside: shuts_less(change, read),
        reason="where no other policy selects its pods everybody may connect with them",
        instead="a policy that holds for the same pods and lets only through what is needed",
        link=f"{GUIDE}/#the-two-sorts-of-pod-isolation",
    ),
    opening(
        code="GEN-CHG-771",
        kinds=KINDS,
        gains=lambda change, beside: lets_more(change, beside, read, everybody=True),
        reason="everybody may connect, or they with everybody: no other end is named, or all addresses",
        instead="name the pods, namespaces or networks that need it",
        link=f"{GUIDE}/#networkpolicy-resource",
    ),
    opening(
        code="GEN-CHG-772",
        kinds=KINDS,
        gains=lambda change, beside: lets_more(change, beside, read, everybody=False),
        reason="more connections pass than before",
        link=f"{GUIDE}/#networkpolicy-resource",
    ),
    opening(
        code="GEN-CHG-775",
        kinds=SERVICE,
        gains=lets_outside_in,
        reason="it is reached from outside the cluster, by all that reach its address or a node",
        instead="`type: ClusterIP`, and an Ingress or a route with a name and TLS",
        link=f"{SERVICES}/#publishing-services-service-types",
    ),
    opening(
        code="GEN-CHG-776",
        kinds=(*INGRESS, GATEWAY, GRANT, *ROUTES),
        gains=lets_in,
        reason="more is reached from outside, or from other namespaces, or without what guarded it",
        link="https://gateway-api.sigs.k8s.io/concepts/security-model/",
    ),
)
