"""How a rule of the API server is written: a ValidatingAdmissionPolicy, bound to the namespaces of teams."""

from collections.abc import Mapping

from generator.components.argo_workflows import ACCOUNT
from generator.components.component import Manifest
from generator.components.kueue import TEAM

GROUP = "admissionregistration.k8s.io"

# An account of another namespace that may do the same in every namespace: one that another team has here by a
# RoleBinding is no controller. A team's own ServiceAccounts are the team.
_VERBS = (
    "(request.operation == 'CREATE' ? ['create'] : request.operation == 'UPDATE' ? ['update', 'patch']"
    " : ['delete', 'deletecollection'])"
)
# Argo's controller makes pods and claims of what people write in workflows: it is judged as they are.
BY_PIPELINES = f"(request.userInfo.username == '{ACCOUNT}')"
EVERYWHERE = (
    f"(!{BY_PIPELINES} && {_VERBS}.exists(verb,"
    " authorizer.group(request.resource.group).resource(request.resource.resource)"
    ".subresource(request.?subResource.orValue('')).check(verb).allowed()))"
)
"""Who asks may do the same in every namespace, and does it of its own."""
CONTROLLER = "request.userInfo.username == 'system:kube-controller-manager'"
"""Controllers that have no account of their own."""
# The groups of super-admin.conf and of admin.conf (kubeadm, since 1.29): the way in when all else fails.
_ADMINS = ("system:masters", "kubeadm:cluster-admins")
BY_CONTROLLER = (
    f"({CONTROLLER}"
    f" || {list(_ADMINS)}.exists(name, name in request.userInfo.?groups.orValue([]))"
    " || request.userInfo.username.startsWith('system:serviceaccount:')"
    " && !request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':')"
    f" && {EVERYWHERE})"
)
# Objects from before the rules may still be changed and deleted. What one says that ends holds until it is gone, and
# with a finalizer people could keep it for ever: until then nothing is changed but what is said about it.
ENTERING = "!has(object.metadata.deletionTimestamp) || object.?spec != oldObject.?spec"


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
