"""Rules about what pods may do: the Pod Security level that their namespace enforces."""

import re
from collections.abc import Iterator

from generator.build.objects import Built
from generator.build.pods import pods
from generator.model.finding import Finding
from generator.model.rule import rule
from generator.model.served import minor_of
from generator.rules.podsecurity import BASELINE, NEWEST, RESTRICTED, Control

LABEL = "pod-security.kubernetes.io/enforce"


@rule("GEN-POD-001", "pods do nothing that `baseline` forbids")
def baseline(built: Built) -> Iterator[Finding]:
    """A namespace's label `pod-security.kubernetes.io/enforce` makes the API server refuse pods, but not the
    Deployment or Job that makes them: it is accepted, and stays without pods. What needs the node itself belongs in a
    namespace that enforces `privileged`.

    Wrong:
        hostNetwork: true
        containers: [{name: agent, image: example.org/agent:1.2.3}]
    Right:
        containers: [{name: agent, image: example.org/agent:1.2.3}]
    """
    yield from forbidden(built, BASELINE, {"baseline", "restricted"})


@rule("GEN-POD-002", "pods do nothing that `restricted` forbids")
def restricted(built: Built) -> Iterator[Finding]:
    """`restricted` wants things said, not only left out: that nothing runs as root, that privileges are not gained,
    that capabilities are dropped and system calls filtered. The API server refuses pods that do not say so, and accepts
    the Deployment or Job that makes them.

    Wrong:
        containers: [{name: main, image: example.org/app:1.2.3}]
    Right:
        securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
        containers:
          - name: main
            image: example.org/app:1.2.3
            securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    """
    yield from forbidden(built, RESTRICTED, {"restricted"})


def forbidden(built: Built, controls: tuple[Control, ...], levels: set[str]) -> Iterator[Finding]:
    """Yield what pods do against controls where their namespace enforces one of the levels. A namespace that is not
    here (kube-system, default) enforces nothing. What a kustomization that names the file may still change, pods and
    the labels of namespaces, is left alone.
    """
    enforced = levels_of(built)
    for pod in (each for each in pods(built) if not each.maker.unfinished):
        level, minor = enforced.get(pod.namespace, ("", NEWEST))
        for one in (one for control in controls if level in levels for one in control(pod, minor)):
            message = f"{one.message}, and namespace {pod.namespace} enforces `{level}`: its pods are refused"
            yield pod.finding(message, *one.at, fix=one.fix)


def levels_of(built: Built) -> dict[str, tuple[str, int]]:
    """Return the level that each namespace enforces, and by the rules of which minor: that of the cluster, or an older
    one that the namespace names.
    """
    minor = minor_of(built.cluster.kubernetes.version) if built.cluster else NEWEST
    found = {}
    for one in (each for each in built.of("Namespace") if not each.unfinished):
        labels = one.labels
        pinned = re.fullmatch(r"v1\.(\d{1,3})", str(labels.get(f"{LABEL}-version")))
        found[one.name] = (str(labels.get(LABEL)), min(minor, int(pinned[1])) if pinned else minor)
    return found
