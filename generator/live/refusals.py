"""What an API server's refusal means: which finding it is, where, and what helps."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path as File

from generator.build.fields import dig, sequence
from generator.build.objects import Object, Problem
from generator.live.api import Answer
from generator.live.fields import path_of
from generator.model.finding import Path
from generator.spec.codes import table

UNSERVED, UNKNOWN, INVALID, IMMUTABLE = "GEN-SRV-001", "GEN-SRV-002", "GEN-SRV-003", "GEN-SRV-004"
DENIED, UNREACHABLE, FORBIDDEN, NAMESPACE_ABSENT = "GEN-SRV-005", "GEN-SRV-006", "GEN-SRV-007", "GEN-SRV-008"
ESTABLISHED, OTHER = "GEN-SRV-009", "GEN-SRV-010"

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
_LONG = 1500


def namespace_absent(answer: Answer) -> bool:
    """Tell whether an object was refused because its namespace is not there."""
    return answer.status == 404 and dig(answer.body, "details", "kind") == "namespaces"


def unserved(one: Object, known: Sequence[str]) -> Problem:
    """Return the problem of an object whose kind the server does not serve; `known` are versions that define it."""
    message = f"the server serves no {one.kind} in {one.manifest['apiVersion']}"
    fix = (
        f"write it in {known[-1]}" if known else f"correct apiVersion and kind; is `{one.kind}` one of Kubernetes' own?"
    )
    return Problem(object=one, code=UNSERVED, message=message, at=("apiVersion",), fix=fix)


def problems(one: Object, answer: Answer) -> Iterator[Problem]:
    """Yield what a refused object is refused for, in the server's words; nothing for one that is accepted."""
    if answer.good:
        return
    if namespace_absent(answer):
        yield _problem(one, NAMESPACE_ABSENT, answer.message, "metadata.namespace")
        return
    yield from _typed(one, answer) or _fields(one, answer) or _causes(one, answer) or [_whole(one, answer)]


def _typed(one: Object, answer: Answer) -> list[Problem]:
    """Read `failed to create typed patch object (default/a; /v1, Kind=Pod): .spec.x: field not declared in schema`, or
    `errors:` with a line for each.
    """
    found = _TYPED.search(str(answer.body.get("message")))
    return [_misfit(one, *misfit.groups()) for misfit in _MISFIT.finditer(found[1] if found else "")]


def _misfit(one: Object, place: str, why: str) -> Problem:
    # `got &{...}` is how Go writes a value: it is told as in the file.
    expected, got, _ = why.partition("got &")
    at = path_of(one.manifest, place)
    if got and _whole_way(place, at):
        why = f"{expected}got {json.dumps(dig(one.manifest, *at), default=str)}"
    return _problem(one, _code(why), f"{place}: {why}", place)


def _fields(one: Object, answer: Answer) -> list[Problem]:
    """Read `strict decoding error: unknown field "spec.a", unknown field "spec.b"`."""
    names = dict.fromkeys(_FIELD.findall(answer.message)) if "strict decoding" in answer.message else ()
    return [_problem(one, UNKNOWN, f"{name}: unknown or duplicate field", name) for name in names]


def _causes(one: Object, answer: Answer) -> list[Problem]:
    found = [cause for cause in sequence(dig(answer.body, "details", "causes")) if dig(cause, "field")]
    return [_cause(one, str(cause["field"]), " ".join(str(dig(cause, "message")).split())) for cause in found]


def _cause(one: Object, place: str, words: str) -> Problem:
    code = _code(words)
    message = words if place == "<nil>" else f"{place}: {words}"
    return _problem(one, INVALID if code == OTHER else code, message, place)


def _whole(one: Object, answer: Answer) -> Problem:
    return _problem(one, _code(answer.message), answer.message, "")


def _code(words: str) -> str:
    return next((code for code, pattern in _KNOWN if re.search(pattern, words)), OTHER)


def _problem(one: Object, code: str, message: str, place: str) -> Problem:
    text = message if len(message) <= _LONG else f"{message[:_LONG]} ..."
    at = path_of(one.manifest, place)
    removable = code == INVALID and _whole_way(place, at) and "Required value" not in message
    null = removable and dig(one.manifest, *at) is None
    return Problem(object=one, code=code, message=text, at=at, fix=_OF_NULL if null else _FIXES.get(code, ""))


def _whole_way(place: str, at: Path) -> bool:
    """Tell whether a path leads to the very place, and does not end before what the object does not have."""
    return bool(at) and place.rstrip('"]').endswith(str(at[-1]))


def unestablished(one: Object, why: str) -> Problem:
    """Return the problem of a CustomResourceDefinition that was stored and is not served."""
    return Problem(object=one, code=ESTABLISHED, message=f"it is stored, but not served: {why}", at=("spec", "names"))


EXPLAINED = tuple(table(File(__file__).with_name("refusals.yaml")).values())
"""What `gen explain` tells about these codes."""
