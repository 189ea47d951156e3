"""What an API server's refusal means: which finding it is, where, and what helps."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from generator.build.objects import Object
from generator.live.dry_run.field_paths import path_of
from generator.model.fields import dig, sequence
from generator.model.finding import Finding, Path
from generator.model.rule import Explained

if TYPE_CHECKING:
    from generator.live.api import Answer

UNSERVED = Explained(
    code="GEN-SRV-001",
    title="the API server serves the kind",
    text="""
    Argo CD cannot apply an object whose kind or version no API and no CustomResourceDefinition brings; the whole
    Application stays out of sync.

    Wrong:
        apiVersion: policy/v1beta1
        kind: PodDisruptionBudget
    Right:
        apiVersion: policy/v1
        kind: PodDisruptionBudget
    """,
)
UNKNOWN = Explained(
    code="GEN-SRV-002",
    title="the API server knows every field",
    text="""
    A field that the server does not know is refused, or dropped in silence and different for ever.

    Wrong:
        spec:
          replica: 3
    Right:
        spec:
          replicas: 3
    """,
)
INVALID = Explained(
    code="GEN-SRV-003",
    title="the API server accepts every value",
    text="""
    The server's own validation, and that of the CustomResourceDefinitions, is what a sync meets.

    Wrong:
        spec:
          replicas: -1
    Right:
        spec:
          replicas: 1
    """,
)
IMMUTABLE = Explained(
    code="GEN-SRV-004",
    title="no field changes that cannot change",
    text="""
    The object stands in the cluster with another value, and Kubernetes never lets this field change: the sync would
    fail for ever. Only to delete the object and make it anew helps, which for storage loses data.

    Wrong:
        spec:
          selector:
            matchLabels: {app: renamed}
    Right:
        spec:
          selector:
            matchLabels: {app: as-it-stands}
    """,
)
DENIED = Explained(
    code="GEN-SRV-005",
    title="no policy of the cluster refuses the object",
    text="""
    An admission webhook, an admission policy, Pod Security or a quota of the cluster refuses it, and would refuse it
    from Argo CD as well.

    Wrong:
        spec:
          hostNetwork: true
    Right:
        spec:
          hostNetwork: false
    """,
)
UNREACHABLE = Explained(
    code="GEN-SRV-006",
    title="admission and conversion webhooks answer",
    text="""
    The server asks a webhook before it takes the object, and gets no answer: nobody can apply such objects until it
    does. The fault is in the cluster, not in the object.

    Wrong:
        (a webhook configuration whose service has no running pod)
    Right:
        (the service runs, or its configuration is gone)
    """,
)
FORBIDDEN = Explained(
    code="GEN-SRV-007",
    title="the user of the kubeconfig may try the object",
    text="""
    To try an object takes the same rights as to apply it: patch, and create where it is new. What may not be tried is
    not judged.

    Wrong:
        verbs: [get, list]
    Right:
        verbs: [get, list, create, patch]
    """,
)
NAMESPACE_ABSENT = Explained(
    code="GEN-SRV-008",
    title="the namespace is there",
    text="""
    Nothing that is built brings the object's namespace, and the server does not have it.

    Wrong:
        metadata:
          namespace: monitorng
    Right:
        metadata:
          namespace: monitoring
    """,
)
ESTABLISHED = Explained(
    code="GEN-SRV-009",
    title="the API server serves a CustomResourceDefinition that it stored",
    text="""
    Two definitions of one kind or plural, or a schema that is not structural: the server takes the definition and never
    serves its objects.

    Wrong:
        spec:
          names: {kind: Queue, plural: queues}  # another definition in this group has them
    Right:
        spec:
          names: {kind: Queue, plural: queues}
    """,
)
OTHER = Explained(
    code="GEN-SRV-010",
    title="the API server accepts the object",
    text="""
    The server refuses it for a reason that gen does not know; its own words are in the message.

    Wrong:
        (see the message)
    Right:
        (see the message)
    """,
)

# The first that is found in the server's words decides.
_KNOWN = (
    (UNREACHABLE, r"failed calling webhook|conversion webhook for .* failed"),
    (UNKNOWN, r"not declared in schema|unknown field|duplicate field"),
    (FORBIDDEN, r"cannot \w+ resource|attempting to grant RBAC permissions"),
    (IMMUTABLE, r"immutable|may not change once set|may not be changed|updates to .* are forbidden"),
    (DENIED, r"denied the request|denied request|violates PodSecurity|exceeded quota| is forbidden: "),
    (INVALID, r"Invalid value|Required value|Unsupported value|Duplicate value|Too long|expected .*, got| is invalid"),
)

_FIXES = {
    UNKNOWN: "correct its spelling or remove it; `kubectl explain` lists the fields there are",
    INVALID: "give it a value that the server's words allow",
    IMMUTABLE: "keep the old value, or plan to delete the object and make it anew",
    DENIED: "change what the policy objects to, or have the policy changed",
    UNREACHABLE: "start the webhook's service, or remove its configuration if nothing serves it any more",
    FORBIDDEN: "judge with a user that may do this, by another --context",
    NAMESPACE_ABSENT: "add the Namespace to what is built, or correct the object's namespace",
}
_OF_NULL = "remove it, or give it a value"

_FIELD = re.compile(r'(?:unknown|duplicate) field "([^"]*)"')
_TYPED = re.compile(r"failed to create typed patch object \([^)]*\): (.*)", re.DOTALL)
_MISFIT = re.compile(r"^ *\.(?P<place>.*?): (?P<why>.*)$", re.MULTILINE)
_UNCHECKED = "some validation rules were not checked because the object was invalid"
"""What the server adds where CEL rules had to wait for the schema."""
_LONG = 1500


def namespace_absent(answer: "Answer") -> bool:
    """Tell whether an object was refused because its namespace is not there."""
    return answer.status == 404 and dig(answer.body, "details", "kind") == "namespaces"


def unserved(one: Object, known: Sequence[str]) -> Finding:
    """Return the finding on an object whose kind the server does not serve; `known` are versions that define it."""
    message = f"the server serves no {one.kind} in {one.manifest['apiVersion']}"
    fix = (
        f"write it in {known[-1]}" if known else f"correct apiVersion and kind; is `{one.kind}` one of Kubernetes' own?"
    )
    return UNSERVED.complete(one.finding(message, "apiVersion", fix=fix))


def findings(one: Object, answer: "Answer") -> Iterator[Finding]:
    """Yield what a refused object is refused for, in the server's words; nothing for one that is accepted."""
    if answer.good:
        return
    if namespace_absent(answer):
        yield _finding(one, NAMESPACE_ABSENT, answer.message, "metadata.namespace")
        return
    yield from _typed(one, answer) or _fields(one, answer) or _causes(one, answer) or [_whole(one, answer)]


def _typed(one: Object, answer: "Answer") -> list[Finding]:
    """Read `failed to create typed patch object (default/a; /v1, Kind=Pod): .spec.x: field not declared in schema`, or
    `errors:` with a line for each.
    """
    found = _TYPED.search(str(answer.body.get("message")))
    return [_misfit(one, *misfit.groups()) for misfit in _MISFIT.finditer(found[1] if found else "")]


def _misfit(one: Object, place: str, why: str) -> Finding:
    # `got &{...}` is how Go writes a value: it is told as in the file.
    expected, got, _ = why.partition("got &")
    at = path_of(one.manifest, place)
    if got and _whole_way(place, at):
        why = f"{expected}got {json.dumps(dig(one.manifest, *at), default=str)}"
    return _finding(one, _code(why), f"{place}: {why}", place)


def _fields(one: Object, answer: "Answer") -> list[Finding]:
    """Read `strict decoding error: unknown field "spec.a", unknown field "spec.b"`."""
    names = dict.fromkeys(_FIELD.findall(answer.message)) if "strict decoding" in answer.message else ()
    return [_finding(one, UNKNOWN, f"{name}: unknown or duplicate field", name) for name in names]


def _causes(one: Object, answer: "Answer") -> list[Finding]:
    found = [cause for cause in sequence(dig(answer.body, "details", "causes")) if dig(cause, "field")]
    # That more was not judged is no mistake of its own.
    found = [cause for cause in found if _UNCHECKED not in str(dig(cause, "message"))] or found
    return [_cause(one, str(cause["field"]), " ".join(str(dig(cause, "message")).split())) for cause in found]


def _cause(one: Object, place: str, words: str) -> Finding:
    code = _code(words)
    message = words if place == "<nil>" else f"{place}: {words}"
    return _finding(one, INVALID if code == OTHER else code, message, place)


def _whole(one: Object, answer: "Answer") -> Finding:
    return _finding(one, _code(answer.message), answer.message, "")


def _code(words: str) -> Explained:
    return next((code for code, pattern in _KNOWN if re.search(pattern, words)), OTHER)


def _finding(one: Object, code: Explained, message: str, place: str) -> Finding:
    text = message if len(message) <= _LONG else f"{message[:_LONG]} ..."
    at = path_of(one.manifest, place)
    removable = code == INVALID and _whole_way(place, at) and "Required value" not in message
    null = removable and dig(one.manifest, *at) is None
    return code.complete(one.finding(text, *at, fix=_OF_NULL if null else _FIXES.get(code, "")))


def _whole_way(place: str, at: Path) -> bool:
    """Tell whether a path leads to the very place, and does not end before what the object does not have."""
    return bool(at) and place.rstrip('"]').endswith(str(at[-1]))


def unestablished(one: Object, why: str) -> Finding:
    """Return the finding on a CustomResourceDefinition that was stored and is not served."""
    return ESTABLISHED.complete(one.finding(f"it is stored, but not served: {why}", "spec", "names"))
