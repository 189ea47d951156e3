"""`gen check --server`: what a real API server says."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from generator.build.objects import Built
from generator.cli.terminal import say_all
from generator.live.dry_run.server import ServerAnswers, ask_server
from generator.model.plural import plural
from generator.model.served import minor_of
from generator.rules.judging import Answers

UNTOLD = "of a version that may not be read"
_BLIND = "by a throw-away server: webhooks, admission policies and quotas of your cluster, immutable fields"


def check_server(built: Built, kubeconfig: Path | None, context: str | None) -> Answers:
    """Return what an API server says against the objects, and tell on standard error which server that was and what was
    not judged. Raises UsageError as `ask_server`.
    """
    asked = ask_server(built, kubeconfig, context)
    say_all(_lines(built, asked), err=True)
    answers = asked.answers
    return structs.replace(answers, unjudged=(*answers.unjudged, _BLIND)) if asked.throw_away else answers


def _lines(built: Built, asked: ServerAnswers) -> Iterator[str]:
    what = "a throw-away kube-apiserver" if asked.throw_away else f"{asked.host} as {asked.server.user}"
    version, objects = asked.server.version, plural(asked.answers.judged, "object")
    yield f"{built.name}: {objects} judged by {what}, Kubernetes {version or UNTOLD}, in {asked.seconds:.1f} s"
    if version and built.cluster and (wanted := built.cluster.kubernetes.version) != version.removeprefix("v"):
        same = minor_of(wanted) == minor_of(version)
        yield f"  the cluster file says {wanted}" + (
            "" if same else ": another minor may serve and accept other things"
        )
    yield from (f"  not judged: {why}" for why in asked.answers.unjudged)
    if built.unvendored:
        yield f"  not vendored, so not judged: what {', '.join(built.unvendored)} bring"
    if asked.throw_away:
        yield f"  not judged {_BLIND} (--kubeconfig asks your cluster)"
