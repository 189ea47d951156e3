"""How a rule of the API server is written: a ValidatingAdmissionPolicy, bound to the namespaces of teams."""

from collections.abc import Mapping

from generator.components.component import Manifest
from generator.components.kueue import TEAM

GROUP = "admissionregistration.k8s.io"

# A controller of another namespace. A team's own ServiceAccounts are the team; `system:masters` is the way in when all
# else fails, and no ordinary administrator has it since Kubernetes 1.29.
BY_CONTROLLER = (
    "(request.userInfo.username.startsWith('system:serviceaccount:')"
    " && !request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':'))"
    " || request.userInfo.username == 'system:kube-controller-manager'"
    " || (has(request.userInfo.groups) && 'system:masters' in request.userInfo.groups)"
)
# Objects from before the rules may still be changed and deleted.
ENTERING = "!has(object.metadata.deletionTimestamp)"


def resources(group: str, kinds: list[str], *operations: str) -> Manifest:
    """Match operations on kinds of one API group, in any version."""
    return {"apiGroups": [group], "apiVersions": ["*"], "resources": kinds, "operations": list(operations)}


def policy(
    name: str,
    matched: list[Manifest],
    *,
    validations: Mapping[str, str],
    variables: Mapping[str, str] | None = None,
    conditions: Mapping[str, str] | None = None,
) -> Manifest:
    """Write a policy: `validations` are CEL expressions that must hold, with what to tell where one does not."""
    spec: Manifest = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": matched},
        "validations": [{"expression": rule, "message": told} for rule, told in validations.items()],
    }
    for key, named in (("variables", variables), ("matchConditions", conditions)):
        if named:
            spec[key] = [{"name": name, "expression": text} for name, text in named.items()]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


def binding(policy: Manifest) -> Manifest:
    """Apply a policy in the namespaces that carry a team's label."""
    name = policy["metadata"]["name"]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchExpressions": [{"key": TEAM, "operator": "Exists"}]}},
        },
    }
