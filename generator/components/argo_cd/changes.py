"""What changes of Argo CD's own settings and objects mean (v3.5.3: `util/settings`, `docs/operator-manual`)."""

from generator.model.change import ABSENT, VERSION, ChangeRule, Effect, FieldChange, ObjectChange, named
from generator.model.versions import next_minor, of, skips_a_minor

DOCS = "https://argo-cd.readthedocs.io/en/stable"
MAPS = ("/ConfigMap",)
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


CHANGES = (
    ChangeRule(
        code="GEN-CHG-320",
        kinds=MAPS,
        paths=("data",),
        effect=Effect.NONE,
        reason="Argo CD reads it live",
        link=f"{DOCS}/operator-manual/declarative-setup/",
        when=named("argocd-cm", "argocd-rbac-cm", "argocd-ssh-known-hosts-cm", "argocd-tls-certs-cm"),
    ),
    ChangeRule(
        code="GEN-CHG-744",
        kinds=MAPS,
        paths=(
            "data.[resource.exclusions]",
            "data.[resource.inclusions]",
            "data.[application.resourceTrackingMethod]",
            "data.[application.instanceLabelKey]",
        ),
        effect=Effect.BY_HAND,
        reason="Argo CD sees other objects, or takes others for its own: those that it no longer sees it neither "
        "compares nor applies nor deletes, whatever Git says",
        instead="look at what `argocd app diff` shows of every Application after the merge",
        link=f"{DOCS}/operator-manual/declarative-setup/#resource-exclusioninclusion",
        when=named("argocd-cm"),
    ),
    ChangeRule(
        code="GEN-CHG-745",
        kinds=MAPS,
        paths=("data.*",),
        effect=Effect.UNKNOWN,
        reason="Argo CD judges or compares objects of some kinds otherwise: one that it takes for unhealthy stops "
        "every later wave, and what it leaves out of comparisons no longer arrives",
        instead="try it on a cluster that does not matter",
        link=f"{DOCS}/operator-manual/health/",
        when=customizes,
    ),
    ChangeRule(
        code="GEN-CHG-321",
        kinds=MAPS,
        paths=("data",),
        effect=Effect.BY_HAND,
        reason="Argo CD's programs read it when they start",
        instead="`kubectl -n argocd rollout restart deployment argocd-server argocd-repo-server` and `statefulset "
        "argocd-application-controller`",
        link=f"{DOCS}/operator-manual/server-commands/additional-configuration-method/",
        when=named("argocd-cmd-params-cm"),
    ),
    ChangeRule(
        code="GEN-CHG-322",
        kinds=MAPS,
        paths=("data.[policy.csv]",),
        effect=Effect.OUTAGE,
        reason="whoever is no longer named may do nothing in Argo CD from now on",
        instead="name the new ones first",
        when=takes_rights,
    ),
    ChangeRule(
        code="GEN-CHG-740",
        kinds=("/Secret",),
        paths=(f"metadata.labels[{TYPE}]",),
        effect=Effect.OUTAGE,
        reason="Argo CD no longer takes it for what it was, a repository or a cluster: what needs it moves no more",
        instead="leave the label as long as an Application needs the Secret",
        link=f"{DOCS}/operator-manual/declarative-setup/",
        when=lambda _change, field: field.old is not ABSENT,
    ),
    ChangeRule(
        code="GEN-CHG-323",
        kinds=APPLICATION,
        paths=("spec.source.path",),
        effect=Effect.NONE,
        reason="what differs between both places is told object by object",
        when=stays_in_overlays,
    ),
    ChangeRule(
        code="GEN-CHG-384",
        kinds=APPLICATION,
        paths=("spec.source", "spec.sources"),
        effect=Effect.UNKNOWN,
        reason="its objects come from elsewhere, or become something else, and nobody can see here what comes or goes",
        instead="compare `argocd app diff` of before and after",
        link=f"{DOCS}/user-guide/application_sources/",
    ),
    ChangeRule(
        code="GEN-CHG-324",
        kinds=APPLICATION,
        paths=("spec.destination.server", "spec.destination.name"),
        effect=Effect.BY_HAND,
        reason="everything is made again in the other cluster, and stays behind in the old one, where nobody manages "
        "it",
        instead="delete what was left behind",
    ),
)

JUMPS = (
    ChangeRule(
        code="GEN-CHG-342",
        kinds=(VERSION,),
        paths=("version",),
        effect=Effect.UNKNOWN,
        reason="upstream writes what breaks for each minor version by itself: {old} to {new} goes over one",
        instead="{old} to {next} first, by upstream's notes",
        link=f"{DOCS}/operator-manual/upgrading/overview/",
        when=of("argo-cd", skips_a_minor),
        words=next_minor,
    ),
)
