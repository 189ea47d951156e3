"""What the API server lets routes of teams say.

The Gateway itself keeps to this as well: a listener takes no route of another team, and Cilium follows no reference
into another namespace without a grant, which teams cannot make. But it says so only in a route's status; here whoever
makes the route is told at once. Which hosts are whose is read from the Gateway, so that the two can never differ.
"""

from generator.components.component import Manifest
from generator.components.exposure.layout import GATEWAY, GROUP, NAMESPACE, PLURALS
from generator.components.kueue import TEAM
from generator.components.tenants.policy import ENTERING, binding, policy, resources

_OWNER = f"?allowedRoutes.?namespaces.?selector.?matchLabels[?'{TEAM}'].orValue('')"
_SPACE = "?namespace.orValue(request.namespace) == request.namespace"
_MIRRORS = f"?filters.orValue([]).all(f, f.?requestMirror.?backendRef.{_SPACE})"


def routes() -> tuple[Manifest, Manifest]:
    """Keep routes of a team to its own hosts and Services, and to the one Gateway."""
    made = policy(
        "gen-routes",
        [resources(GROUP, PLURALS, "CREATE", "UPDATE")],
        validations={
            "variables.parents.size() > 0 && variables.parents.all(p, p.?kind.orValue('Gateway') == 'Gateway'"
            f" && p.?group.orValue('{GROUP}') == '{GROUP}' && p.name == '{GATEWAY}'"
            f" && p.?namespace.orValue('') == '{NAMESPACE}')":
            f"name the Gateway {GATEWAY} in namespace {NAMESPACE} in spec.parentRefs, and nothing else",
            "variables.named.size() > 0 && variables.named.all(host, host in variables.hosts)":
            "name hosts of this team in spec.hostnames, each in full: the administrator gives them (its `hosts`)",
            f"variables.rules.all(r, r.?backendRefs.orValue([]).all(b, b.{_SPACE} && b.{_MIRRORS}) && r.{_MIRRORS})":
            "lead to Services of this namespace alone",
        },
        variables={
            "parents": "object.spec.?parentRefs.orValue([])",
            "named": "object.spec.?hostnames.orValue([])",
            "rules": "object.spec.?rules.orValue([])",
            "hosts": f"params.spec.listeners.filter(l, l.{_OWNER} == namespaceObject.metadata.labels['{TEAM}'])"
            ".map(l, l.hostname)",
        },
        conditions={"entering": ENTERING},
    )  # fmt: skip
    bound = binding(made)
    made["spec"]["paramKind"] = {"apiVersion": f"{GROUP}/v1", "kind": "Gateway"}
    bound["spec"]["paramRef"] = {"name": GATEWAY, "namespace": NAMESPACE, "parameterNotFoundAction": "Deny"}
    return made, bound
