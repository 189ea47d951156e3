"""What changes of Argo CD's own settings and objects mean (v3.5.3: `util/settings`, `docs/operator-manual`)."""

from generator.components.rule_files import read_rules
from generator.model.change import ABSENT, FieldChange, ObjectChange, named
from generator.model.versions import of, skips_a_minor

TYPE = "argocd.argoproj.io/secret-type"
APPLICATION = ("argoproj.io/Application",)


def takes_rights(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether somebody has a right no longer."""
    old, new = ({*value.splitlines()} if isinstance(value, str) else set[str]() for value in (field.old, field.new))
    return change.name == "argocd-rbac-cm" and not old <= new


def stays_in_overlays(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an Application has a folder that is built here, before and after."""
    return all(isinstance(place, str) and place.startswith("overlays/") for place in (field.old, field.new))


def customizes(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether it is said otherwise how objects of a kind are judged that were judged before."""
    said = str(field.path[-1])
    return change.name == "argocd-cm" and said.startswith("resource.customizations") and field.old is not ABSENT


CHANGES = read_rules(
    "argo_cd/changes.yaml",
    customizes,
    takes_rights,
    stays_in_overlays,
    of_settings=named("argocd-cm", "argocd-rbac-cm", "argocd-ssh-known-hosts-cm", "argocd-tls-certs-cm"),
    of_the_main_settings=named("argocd-cm"),
    of_arguments=named("argocd-cmd-params-cm"),
    was_there=lambda _change, field: field.old is not ABSENT,
)

JUMPS = read_rules("argo_cd/jumps.yaml", skips_a_minor=of("argo-cd", skips_a_minor))
