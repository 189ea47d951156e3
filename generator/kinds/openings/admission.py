"""What is let in: Pod Security, policies and webhooks that refuse less, and webhooks of others."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from generator.build.difference import same
from generator.kinds.admission import BINDING as BINDING_KINDS
from generator.kinds.admission import GUIDE, POLICIES, WEBHOOKS
from generator.kinds.admission import POLICY as POLICY_KINDS
from generator.kinds.definitions import API, CRD
from generator.model.change import Beside, ObjectChange
from generator.model.compared import stays
from generator.model.fields import dig, mapping, sequence
from generator.model.opening import ENFORCE, OpeningRule, Opens, lowered_level, texts, written

POLICY, MUTATING = POLICY_KINDS
BINDING = BINDING_KINDS[0]
STANDARDS = "https://kubernetes.io/docs/concepts/security/pod-security-standards/"
LONG = 100


def short(value: object) -> str:
    """Return a value as it stands in a sentence."""
    text = written(value)
    return text if len(text) <= LONG else f"{text[: LONG - 3]}..."


def lowers(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield the level that a namespace is held to, where it refuses less."""
    if level := lowered_level(change):
        said = dig(change.new, "metadata", "labels", ENFORCE) is not None
        yield f"pods are held to `{level}`{'' if said else ', for no level is said'}"


def chosen_otherwise(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield the labels of a namespace that stays which came, went or changed."""
    old, new = (texts(dig(side, "metadata", "labels")) for side in (change.old, change.new))
    for key in sorted({*old, *new}) if change.old and change.new else ():
        if old.get(key) != new.get(key) and not key.startswith("pod-security.kubernetes.io/"):
            yield f"{key}: {old.get(key, 'nothing')} -> {new.get(key, 'nothing')}"


def _denies(manifest: Any) -> bool:
    return "Deny" in sequence(dig(manifest, "spec", "validationActions"))


def refuses_no_more(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield which policy refuses no more what it refused: unbound, only warning, or without a check it had."""
    if stays(change) or not change.old:
        return
    if change.kind == BINDING:
        name = str(dig(change.old, "spec", "policyName"))
        if _denies(change.old) and not (_denies(change.new) and dig(change.new, "spec", "policyName") == name):
            yield f"{name} refuses nothing by it"
        return
    old, new = (_checks(one) for one in (change.old, change.new))
    if not change.new:
        yield "it is gone"
    elif len(new) < len(old):
        yield from (f"not asked any more: {short(said)}" for check, said in old.items() if check not in new)


def _checks(policy: Any) -> dict[str, str]:
    found = map(mapping, sequence(dig(policy, "spec", "validations")))
    return {str(one.get("expression")): str(one.get("message") or one.get("expression")) for one in found}


def refuses_less(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield how a policy, or its binding, judges less, or otherwise, than before."""
    if not (change.old and change.new):
        return
    old, new = mapping(change.old.get("spec")), mapping(change.new.get("spec"))
    if change.kind == POLICY:
        before, after = _checks(change.old), _checks(change.new)
        if len(after) >= len(before):
            yield from (f"asked otherwise: {short(said)}" for check, said in before.items() if check not in after)
        yield from _passes_failing(old, new)
        yield from _changed(old, new, "variables", "paramKind")
        yield from _judges_less(old, new, mapping(old.get("matchConstraints")), mapping(new.get("matchConstraints")))
    else:
        yield from _changed(old, new, "paramRef")
        yield from _judges_less(old, new, mapping(old.get("matchResources")), mapping(new.get("matchResources")))


def _passes_failing(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    if old.get("failurePolicy") != "Ignore" and new.get("failurePolicy") == "Ignore":
        yield "what cannot be judged passes (failurePolicy: Ignore)"


def _changed(old: dict[str, Any], new: dict[str, Any], *keys: str) -> Iterator[str]:
    yield from (f"{key} differs" for key in keys if not same(old.get(key), new.get(key)))


def _judges_less(
    old: dict[str, Any], new: dict[str, Any], before: dict[str, Any], after: dict[str, Any]
) -> Iterator[str]:
    """Yield what is no longer looked at; the selectors and rules lie in parts of their own."""
    yield from (f"only if {short(dig(one, 'expression'))}" for one in _come(old, new, "matchConditions"))
    yield from (f"not asked any more of {short(one)}" for one in _come(after, before, "resourceRules", "rules"))
    yield from (f"not asked any more of {short(one)}" for one in _come(before, after, "excludeResourceRules"))
    for key in ("namespaceSelector", "objectSelector"):
        if after.get(key) and not same(before.get(key), after.get(key)):
            yield f"only where the {key} is {short(after[key])}"


def _come(old: dict[str, Any], new: dict[str, Any], *keys: str) -> Iterator[Any]:
    for key in keys:
        before = sequence(old.get(key))
        yield from (one for one in sequence(new.get(key)) if not any(same(one, other) for other in before))


def _hooks(manifest: Any) -> dict[str, dict[str, Any]]:
    """Return who is asked, by name: each webhook; what converts the objects of a definition, or serves a group."""
    spec = mapping(dig(manifest, "spec"))
    if conversion := dig(spec, "conversion", "webhook"):
        return {"conversion": mapping(conversion)}
    if dig(manifest, "kind") == "APIService" and spec.get("service"):
        return {str(dig(manifest, "metadata", "name")): {"clientConfig": spec}}
    return {str(dig(one, "name")): mapping(one) for one in sequence(dig(manifest, "webhooks"))}


def asks_less(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield which webhooks are asked about less, or cannot refuse any more."""
    before, after = _hooks(change.old), _hooks(change.new)
    for name, old in before.items() if not stays(change) else ():
        if name in after:
            new = after[name]
            found = (*_passes_failing(old, new), *_judges_less(old, new, old, new))
            yield from (f"{name}: {text}" for text in found)
        else:
            yield f"{name}: it is gone"


def _server(hook: dict[str, Any]) -> Any:
    found = mapping(hook.get("clientConfig"))
    return found.get("url") or found.get("service")


def asks_strangers(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield which webhooks send what they are asked about to an address that was not there."""
    known = {str(dig(one, "clientConfig", "url")) for one in _hooks(change.old).values()}
    for name, hook in _hooks(change.new).items():
        url = dig(hook, "clientConfig", "url")
        if isinstance(url, str) and url not in known:
            yield f"{name}: {short(url)}"


def _mutations(change: ObjectChange) -> Iterator[Any]:
    old, new = (mapping(dig(side, "spec")) for side in (change.old, change.new))
    return _come(old, new, "mutations")


def asks_others(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield which webhooks are new, ask another server, trust another certificate, or are asked about more."""
    before = _hooks(change.old)
    yield from (f"changes what is written: {short(one)}" for one in _mutations(change))
    for name, hook in _hooks(change.new).items():
        old, server = before.get(name), _server(hook)
        if old is None or not same(_server(old), server):
            if not isinstance(server, str):
                yield f"{name}: {short(server)}"
            continue
        signed = dig(hook, "clientConfig", "caBundle")
        if signed and signed != dig(old, "clientConfig", "caBundle"):
            yield f"{name}: another caBundle"
        yield from (f"{name}: asked about {short(one)} too" for one in _come(old, hook, "rules"))


opening = partial(OpeningRule, opens=Opens.ADMISSION)

ADMISSION = (
    opening(
        code="GEN-CHG-762",
        kinds=("/Namespace",),
        gains=lowers,
        reason="pods may ask for more of their node than before",
        instead="keep the level, and have what needs more run in a namespace of its own",
        link=STANDARDS,
    ),
    opening(
        code="GEN-CHG-763",
        kinds=("/Namespace",),
        gains=chosen_otherwise,
        reason="policies, webhooks and network policies choose namespaces by labels: look which of them do by these",
        link="https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/",
    ),
    opening(
        code="GEN-CHG-764",
        kinds=(POLICY, BINDING),
        gains=refuses_no_more,
        stops=True,
        reason="what it refused passes from now on",
        instead="take out the one check that is wrong, or leave out the objects it is wrong about",
        link=f"{POLICIES}/#validation-actions",
    ),
    opening(
        code="GEN-CHG-765",
        kinds=(POLICY, BINDING),
        gains=refuses_less,
        reason="fewer objects are judged, or otherwise than before",
        link=POLICIES,
    ),
    opening(
        code="GEN-CHG-766",
        kinds=WEBHOOKS,
        gains=asks_less,
        reason="what it refused, or filled in, passes as it is",
        link=f"{GUIDE}/#matching-requests-rules",
    ),
    opening(
        code="GEN-CHG-767",
        kinds=(*WEBHOOKS, *CRD),
        gains=asks_strangers,
        stops=True,
        reason="a server at this address reads all that it is asked about, Secrets where they are among it, and may "
        "change or refuse it",
        instead="a Service of the cluster (`clientConfig.service`)",
        link=f"{GUIDE}/#url",
    ),
    opening(
        code="GEN-CHG-768",
        kinds=(*WEBHOOKS, *CRD, *API, MUTATING),
        gains=asks_others,
        reason="the server that is asked reads what is written, and may change or refuse it",
        link=f"{GUIDE}/#contacting-the-webhook",
    ),
)
