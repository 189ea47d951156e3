"""Webhooks and policies that judge what is written."""

from functools import partial
from typing import Any

from generator.kinds.judged import judges_less
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import dig, mapping, sequence

_GROUP = "admissionregistration.k8s.io"
VALIDATING, MUTATING = f"{_GROUP}/ValidatingWebhookConfiguration", f"{_GROUP}/MutatingWebhookConfiguration"
WEBHOOKS = (VALIDATING, MUTATING)
POLICY = (f"{_GROUP}/ValidatingAdmissionPolicy", f"{_GROUP}/MutatingAdmissionPolicy")
BINDING = (f"{_GROUP}/ValidatingAdmissionPolicyBinding", f"{_GROUP}/MutatingAdmissionPolicyBinding")
GUIDE = "https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers"
POLICIES = "https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy"


def to_ignore(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a failure lets everything pass from now on."""
    return bool(field.new == "Ignore")


def can_refuse(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a webhook that does not answer refuses what it is asked about."""
    return any(dig(one, "failurePolicy") != "Ignore" for one in sequence(dig(change.new, "webhooks")))


def _denies(manifest: Any) -> bool:
    actions = dig(manifest, "spec", "validationActions")
    return actions is None or "Deny" in sequence(actions)


def denies(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the new binding refuses what breaks the policy."""
    return _denies(change.new)


def asks_less(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether each validation of the new policy was there before."""
    old, new = (sequence(dig(one, "spec", "validations")) for one in (change.old, change.new))
    return all(any(dig(one, "expression") == dig(other, "expression") for other in old) for one in new)


def lets_more_pass(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a policy judges fewer requests, or lets those pass that it cannot judge."""
    old, new = (mapping(one.get("spec")) for one in (change.old, change.new))
    if "failurePolicy" in field.path:
        return bool(field.new == "Ignore")
    if "matchConditions" in field.path:
        return all(one in sequence(new.get("matchConditions")) for one in sequence(old.get("matchConditions")))
    both = old.get("matchConstraints"), new.get("matchConstraints")
    return "matchConstraints" in field.path and None not in both and judges_less(*both)


def binds_less(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a binding is for fewer objects, or refuses no more than it did."""
    if "validationActions" in field.path:
        return _denies(change.old) and _denies(change.new)
    both = (dig(one, "spec", "matchResources") for one in (change.old, change.new))
    return "matchResources" in field.path and judges_less(*both)


def only_words(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether it is only what is said to people."""
    return field.path[-1] in {"message", "messageExpression", "reason", "valueExpression"}


of_webhooks = partial(ChangeRule, kinds=WEBHOOKS)
of_policies = partial(ChangeRule, kinds=POLICY[:1])
of_bindings = partial(ChangeRule, kinds=BINDING[:1])

ADMISSION = (
    of_webhooks(
        code="GEN-CHG-130",
        paths=("webhooks",),
        effect=Effect.OUTAGE,
        reason="others are judged, or by another server: where that does not answer, nothing of them can be written",
        link=f"{GUIDE}/#failure-policy",
        armed=True,
    ),
    of_webhooks(
        code="GEN-CHG-131",
        paths=("webhooks.*.failurePolicy",),
        effect=Effect.OUTAGE,
        reason="while the webhook is away nothing that it judges can be written, pods among it: "
        "the cluster may be unable to heal itself",
        instead="keep kube-system and its own namespace out of its selector",
        link=f"{GUIDE}/#failure-policy",
        armed=True,
    ),
    of_webhooks(
        code="GEN-CHG-132",
        paths=("webhooks.*.failurePolicy",),
        effect=Effect.NONE,
        reason="while the webhook is away all passes that it would refuse or complete",
        link=f"{GUIDE}/#failure-policy",
        armed=True,
        when=to_ignore,
    ),
    of_webhooks(
        code="GEN-CHG-133",
        paths=("webhooks.*.clientConfig.caBundle",),
        effect=Effect.NONE,
        reason="what signs the webhook's certificate is mostly filled in by a controller",
    ),
    of_webhooks(
        code="GEN-CHG-134",
        on="added",
        effect=Effect.OUTAGE,
        reason="while the webhook is away nothing that it judges can be written",
        instead="have its server run first, in an earlier wave",
        link=f"{GUIDE}/#failure-policy",
        armed=True,
        when=can_refuse,
    ),
    ChangeRule(
        code="GEN-CHG-135",
        kinds=(VALIDATING,),
        on="removed",
        effect=Effect.NONE,
        reason="what it refused passes from now on",
    ),
    ChangeRule(
        code="GEN-CHG-136",
        kinds=(MUTATING, f"{_GROUP}/MutatingAdmissionPolicy", f"{_GROUP}/MutatingAdmissionPolicyBinding"),
        on="removed",
        effect=Effect.OUTAGE,
        reason="what is written from now on lacks what it filled in",
        armed=True,
    ),
    of_policies(
        code="GEN-CHG-137",
        paths=("spec",),
        effect=Effect.OUTAGE,
        reason="what runs stays; what breaks the policy as it is now is refused when it is written the next time",
        instead="bind it with `validationActions: [Warn, Audit]` first",
        link=f"{POLICIES}/#validation-actions",
        armed=True,
    ),
    of_policies(
        code="GEN-CHG-138",
        paths=("spec.validations",),
        effect=Effect.NONE,
        reason="it asks for nothing that it did not ask for",
        when=asks_less,
    ),
    of_policies(
        code="GEN-CHG-139",
        paths=("spec.validations.*", "spec.auditAnnotations.*"),
        effect=Effect.NONE,
        reason="only what is said of a refusal changes",
        when=only_words,
    ),
    of_policies(
        code="GEN-CHG-730",
        paths=("spec.failurePolicy", "spec.matchConditions", "spec.matchConstraints"),
        effect=Effect.NONE,
        reason="it judges no request that it did not judge, or lets pass what it cannot judge",
        link=POLICIES,
        when=lets_more_pass,
    ),
    ChangeRule(
        code="GEN-CHG-731",
        kinds=(POLICY[1], BINDING[1]),
        paths=("spec",),
        effect=Effect.UNKNOWN,
        reason="what runs stays; objects that are written from now on are changed in another way, or other ones",
        link="https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/",
    ),
    of_bindings(
        code="GEN-CHG-140",
        paths=("spec",),
        effect=Effect.OUTAGE,
        reason="what runs stays; other objects are judged, and those that break the policy are refused when they are "
        "written the next time",
        instead="`validationActions: [Warn, Audit]` first",
        link=f"{POLICIES}/#validation-actions",
        armed=True,
        when=denies,
    ),
    of_bindings(
        code="GEN-CHG-141",
        paths=("spec",),
        effect=Effect.NONE,
        reason="it warns and records, and refuses nothing",
        link=f"{POLICIES}/#validation-actions",
        when=lambda change, field: not denies(change, field),
    ),
    of_bindings(
        code="GEN-CHG-732",
        paths=("spec.matchResources", "spec.validationActions"),
        effect=Effect.NONE,
        reason="it is for no object that it was not for, and refuses as before",
        link=POLICIES,
        when=binds_less,
    ),
    ChangeRule(
        code="GEN-CHG-733",
        kinds=BINDING[1:],
        on="added",
        effect=Effect.UNKNOWN,
        reason="what runs stays; objects that are written from now on are changed by its policy",
        link="https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/",
    ),
    of_bindings(
        code="GEN-CHG-142",
        on="added",
        effect=Effect.OUTAGE,
        reason="what runs stays; what breaks the policy is refused when it is written the next time",
        instead="`validationActions: [Warn, Audit]` first",
        link=f"{POLICIES}/#validation-actions",
        armed=True,
        when=denies,
    ),
    ChangeRule(
        code="GEN-CHG-143",
        kinds=(POLICY[0], BINDING[0]),
        on="removed",
        effect=Effect.NONE,
        reason="what it refused passes from now on",
    ),
)
