"""CustomResourceDefinitions, and APIs that are served by others."""

from functools import partial
from typing import Any

from generator.model.change import ABSENT, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import dig, sequence

CRD, API = ("apiextensions.k8s.io/CustomResourceDefinition",), ("apiregistration.k8s.io/APIService",)
VALIDATION = (
    "https://github.com/kubernetes/kubernetes/blob/v1.35.3/staging/src/k8s.io/apiextensions-apiserver/pkg/apis/"
    "apiextensions/validation/validation.go"
)
VERSIONING = "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning"
_SCHEMA = "spec.versions.*.schema"
_STRICTER = {"required", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"}
_STRICTER |= {"x-kubernetes-validations", "maxProperties", "minProperties", "format", "type"}


def _stored(manifest: Any) -> set[str]:
    versions = sequence(dig(manifest, "spec", "versions"))
    return {str(dig(one, "name")) for one in versions if dig(one, "storage") is True}


def drops_stored(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the version goes in which objects were stored as far as Git knows."""
    name = str(field.path[2]).strip("[]") if len(field.path) > 2 else ""
    return len(field.path) == 3 and field.new is ABSENT and name in _stored(change.old)


def goes(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a version is no longer served, or goes."""
    return field.new is False or (len(field.path) == 3 and field.new is ABSENT)


def drops_field(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a field of the schema goes, and no server keeps what it does not know."""
    return field.new is ABSENT and len(field.path) > 1 and field.path[-2] == "properties"


def comes(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether it is a version, or a field of the schema, that was not there."""
    return field.old is ABSENT and (len(field.path) == 3 or field.path[-2] == "properties")


def asks_more(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a value must keep to what it need not have kept to."""
    key = next((str(step) for step in reversed(field.path) if step in _STRICTER), "")
    if not key or field.new is ABSENT:
        return False
    old, new = field.old, field.new
    if key == "required":
        return not {*sequence(new)} <= {*sequence(old)}
    if key == "enum":
        return old is ABSENT or not {*sequence(old)} <= {*sequence(new)}
    if old is not ABSENT and isinstance(new, int | float) and isinstance(old, int | float):
        return bool(new > old if key.startswith("min") else new < old)
    return True


def by_webhook(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether another program converts from now on."""
    return bool(dig(change.new, "spec", "conversion", "strategy") == "Webhook")


of_definitions = partial(ChangeRule, kinds=CRD)

DEFINITIONS = (
    of_definitions(
        code="GEN-CHG-145",
        on="removed",
        effect=Effect.DATA_LOSS,
        reason="every object of this kind is deleted with it, and then what their controllers made of them",
        instead="annotate it with `Prune=false` in a commit before",
    ),
    of_definitions(
        code="GEN-CHG-146",
        paths=("spec.group", "spec.names.plural", "spec.names.kind", "spec.scope"),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another name or scope of a kind; its Application stops there",
        instead="define a kind of a new name beside it, and copy the objects",
        link=VALIDATION,
    ),
    of_definitions(
        code="GEN-CHG-147",
        paths=("spec",),
        effect=Effect.NONE,
        reason="objects that are there stay as they are",
    ),
    of_definitions(
        code="GEN-CHG-148",
        paths=("spec.versions.*",),
        effect=Effect.OUTAGE,
        reason="who asks for this version is answered 404, Applications that name it among them; "
        "objects can be read in the others",
        link=VERSIONING,
        when=goes,
        settles=1,
    ),
    of_definitions(
        code="GEN-CHG-149",
        paths=("spec.versions.*",),
        effect=Effect.IMPOSSIBLE,
        reason="objects are stored in this version: the API server refuses that it goes; its Application stops there",
        instead="store in another version, write all objects anew, and take it from `status.storedVersions` first",
        link=f"{VERSIONING}/#upgrade-existing-objects-to-a-new-stored-version",
        when=drops_stored,
        settles=1,
    ),
    of_definitions(
        code="GEN-CHG-150",
        paths=(_SCHEMA,),
        effect=Effect.DATA_LOSS,
        reason="what objects have in this field is gone from every read, and from what is stored when they are written",
        instead="read the upgrade notes, and copy what objects have in it to where it is kept from now on, before",
        link="https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning",
        when=drops_field,
        settles=1,
    ),
    of_definitions(
        code="GEN-CHG-151",
        paths=(_SCHEMA,),
        effect=Effect.BY_HAND,
        reason="objects that are there stay; one that does not keep to it is refused when that part of it is changed",
        link="https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting",
        armed=True,
        when=asks_more,
    ),
    of_definitions(
        code="GEN-CHG-155",
        paths=("spec.versions.*",),
        effect=Effect.NONE,
        reason="objects may be written in it from now on",
        when=comes,
        settles=1,
    ),
    of_definitions(
        code="GEN-CHG-152",
        paths=("spec.conversion",),
        effect=Effect.OUTAGE,
        reason="while the webhook that converts does not answer, no object of this kind can be read",
        link=VERSIONING,
        armed=True,
        when=by_webhook,
    ),
    ChangeRule(
        code="GEN-CHG-153",
        kinds=API,
        paths=("spec",),
        effect=Effect.OUTAGE,
        reason="requests to this API go to another server, or are trusted otherwise",
        link="https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/",
    ),
    ChangeRule(
        code="GEN-CHG-154",
        kinds=API,
        on="removed",
        effect=Effect.OUTAGE,
        reason="this API is no longer served; `kubectl top` and scalers among those who ask for it",
        link="https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/",
    ),
)
