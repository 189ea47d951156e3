"""Rules about names, labels and subjects: what the API server refuses although every field is one of the kind."""

import re
from collections.abc import Iterator

from generator.build.objects import Built, Object
from generator.build.pods import GROUPS, TEMPLATES
from generator.model.fields import dig, mapping, spots
from generator.model.finding import Finding, Path
from generator.model.rule import rule

# Names that are parts of paths, or that each kind checks by itself.
_OTHERS = {
    "APIService", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding", "IPAddress", "Role", "RoleBinding",
}  # fmt: skip
_WORD = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(_WORD)
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_KEY = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PLACEHOLDER = re.compile(r"<[^<>]*>|\{\{.*?\}\}|\$\{[^{}]*\}|\$\([^()]*\)")
_SELECTING = {"DaemonSet", "Deployment", "Job", "PodDisruptionBudget", "ReplicaSet", "StatefulSet"}


@rule("GEN-API-006", "names are such as Kubernetes takes")
def named(built: Built) -> Iterator[Finding]:
    """Names are lower-case letters, digits, `-` and `.`, those of namespaces without dots: anything else the API server
    refuses, a placeholder that nobody replaced as well. Left alone is what the kustomization that names the file may
    still replace (variables, and by its `namespace` those of namespaces), and variables that Flux replaces.

    Wrong:
        metadata: {name: "cleanup-<node>"}
    Right:
        metadata: {name: cleanup-node-1}
    """
    for one in built.objects:
        metadata = one.manifest["metadata"]
        key = "name" if metadata.get("name") else "generateName"
        # What is generated goes on behind the name.
        name = one.name if key == "name" else f"{one.name}x"
        form = _LABEL if one.kind == "Namespace" else _DOMAIN
        settled = _settled(one, name, of_a_namespace=one.kind == "Namespace")
        if one.kind not in _OTHERS and not form.fullmatch(name) and settled:
            yield one.finding(_refused(one.name, "a name"), "metadata", key, fix=_instead(one.name, _NAMES))
        settled = _settled(one, one.namespace, of_a_namespace=True)
        if one.namespace and not _LABEL.fullmatch(one.namespace) and settled:
            message = _refused(one.namespace, "the name of a namespace")
            yield one.finding(message, "metadata", "namespace", fix=_instead(one.namespace, _NAMES))


@rule("GEN-API-007", "labels are such as Kubernetes takes")
def labelled(built: Built) -> Iterator[Finding]:
    """The values of labels and of selectors are at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at
    both ends; keys are the same, with a domain and a slash before it where there is one.

    Wrong:
        labels: {app: "{{app}}"}
    Right:
        labels: {app: web}
    """
    for one in built.objects:
        for at in _places(one):
            for key, value in mapping(dig(one.manifest, *at)).items():
                if not is_key(str(key)) and not one.left_open(str(key)):
                    message = _refused(str(key), "the key of a label")
                    yield one.finding(message, *at, key, fix=_instead(str(key), _VALUES))
                if isinstance(value, str) and not _VALUE.fullmatch(value) and not one.left_open(value):
                    message = _refused(value, "the value of a label")
                    yield one.finding(message, *at, key, fix=_instead(value, _VALUES))


@rule("GEN-API-008", "what a kind cannot do without is there")
def whole(built: Built) -> Iterator[Finding]:
    """A ReplicationController selects by the labels of its pods unless it says something else, so that one of both is
    needed. A ServiceAccount in a ClusterRoleBinding, which has no namespace itself, must name its own.

    Wrong:
        kind: ClusterRoleBinding
        subjects: [{kind: ServiceAccount, name: setup}]
    Right:
        kind: ClusterRoleBinding
        subjects: [{kind: ServiceAccount, name: setup, namespace: rook-ceph}]
    """
    for one in built.objects:
        if one.unfinished:
            continue
        if one.kind == "ReplicationController" and not mapping(one.spec.get("selector")):
            if not mapping(dig(one.spec, "template", "metadata", "labels")):
                fix = "give its pods labels in spec.template.metadata, and select them in spec.selector"
                yield one.finding("it selects nothing, and its pods have no labels", "spec", fix=fix)
        elif one.kind == "ClusterRoleBinding":
            for at, subject in spots(one.manifest, "subjects.*"):
                if dig(subject, "kind") == "ServiceAccount" and not dig(subject, "namespace"):
                    message = f"the ServiceAccount {dig(subject, 'name')} has no namespace here"
                    yield one.finding(message, *at, fix="add `namespace`")


def _places(one: Object) -> Iterator[Path]:
    """Yield where an object has labels, or selects by them; within custom kinds they may be templates."""
    yield ("metadata", "labels")
    if one.version not in {*GROUPS, "policy/v1"}:
        return
    if TEMPLATES.get(one.kind):
        yield (*TEMPLATES[one.kind], "metadata", "labels")
    if one.kind in TEMPLATES:
        yield (*TEMPLATES[one.kind], "spec", "nodeSelector")
    if one.kind in {"ReplicationController", "Service"}:
        yield ("spec", "selector")
    if one.kind in _SELECTING:
        yield ("spec", "selector", "matchLabels")


def is_key(key: str) -> bool:
    """Tell whether this may be the key of a label."""
    domain, slash, name = key.rpartition("/")
    return _KEY.fullmatch(name) is not None and (not slash or _DOMAIN.fullmatch(domain) is not None)


def _settled(one: Object, text: str, *, of_a_namespace: bool) -> bool:
    """Tell whether a name is the one that is applied. A kustomization's `namespace` replaces those of namespaces."""
    return not one.left_open(text) and not (of_a_namespace and one.unfinished)


def _refused(text: str, what: str) -> str:
    return f"`{text}` is not such as Kubernetes takes for {what}"


def _instead(text: str, allowed: str) -> str:
    placeholder = _PLACEHOLDER.search(text)
    return f"write what stands for `{placeholder[0]}`" if placeholder else allowed


_NAMES = "lower-case letters, digits, `-` and `.`; at both ends a letter or digit"
_VALUES = "at most 63 letters, digits, `-`, `_` and `.`; at both ends a letter or digit"
