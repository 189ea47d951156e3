"""Texts of Argo CD and API servers, as the tests with the real ones saw them or as their source writes them."""

import pytest

from generator.live.messages import LONGEST, MESSAGES, meaning

CRD = "The Kubernetes API could not find example.org/Unserved for requested resource a/x. "
HOOK = (
    'Internal error occurred: failed calling webhook "m.kb.io": failed to call webhook: Post "https://s.k.svc:443/m": '
)
QUOTA = 'pods "x" is forbidden: exceeded quota: team, requested: pods=1, used: pods=5, limited: pods=5'
SECURITY = 'pods "x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true'
KINDS = 'resource mapping not found for name: "x" namespace: "a" from "-": no matches for kind "U" in version "e/v1"'
BUILD = "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = "
SAID = [
    (
        "waiting for pruning confirmation of argoproj.io/Application/volcano and 2 more resources",
        "it waits for a person: argoproj.io/Application/volcano left Git, and goes only when that is confirmed",
        "gen sync --cluster small",
    ),
    (
        f'{CRD}Make sure the "Unserved" CRD is installed on the destination cluster.',
        "nothing in the cluster defines the kind example.org/Unserved of a/x: its definition is not installed (yet)",
        "gen check --server",
    ),
    (
        f"one or more objects failed to apply, reason: {KINDS}",
        "nothing in the cluster defines U of e/v1: its definition is not installed (yet)",
        "gen check --server",
    ),
    (
        "one or more synchronization tasks are not valid: namespace kube-system is not permitted in project 'tenants'",
        "its project tenants does not permit kube-system",
        "gen check",
    ),
    (
        "resource rbac.authorization.k8s.io:ClusterRole is not permitted in project tenants",
        "its project tenants does not permit rbac.authorization.k8s.io:ClusterRole",
        "gen check",
    ),
    (
        "application repo https://x/y.git is not permitted in project 'storage'",
        "its project storage does not permit the repository https://x/y.git",
        "gen check",
    ),
    (
        f'{HOOK}no endpoints available for service "s"',
        "the webhook m.kb.io answers nobody: no pod stands behind its Service s",
        "kubectl get pods --all-namespaces | grep -v Running",
    ),
    (
        f"{HOOK}dial tcp 10.96.0.9:443: connect: connection refused",
        "the webhook m.kb.io does not answer: connect: connection refused",
        "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
    ),
    (
        QUOTA,
        "the quota team is used up: pods=1 asked for, pods=5 used of pods=5",
        "kubectl describe resourcequota team",
    ),
    (SECURITY, "its namespace allows only pods of level restricted:latest: runAsNonRoot != true", "gen check"),
    (
        'Deployment.apps "x" is invalid: spec.selector: Invalid value: {"a":"b"}: field is immutable',
        "the API server lets nobody change spec.selector of what exists",
        "gen diff",
    ),
    ('namespaces "a" not found', "the namespace a is not there (yet)", "gen sync namespaces --cluster small"),
    (
        f"{BUILD}overlays/small/x: app path does not exist",
        "the commit has no folder for it",
        "gen render --check",
    ),
    (
        "Failed to load target state: failed to list refs: authentication required: Repository not found.",
        "Argo CD may not read the repository: its credentials are missing or wrong",
        "gen bootstrap --cluster small",
    ),
    (
        "unable to resolve 'refs/heads/main' to a commit SHA",
        "the repository has no branch or commit refs/heads/main",
        "git push origin HEAD:refs/heads/main",
    ),
    (
        'Get "https://git.example.org/x.git/info/refs": dial tcp: lookup git.example.org: no such host',
        "Argo CD does not reach what it needs: no such host",
        "kubectl --namespace argocd logs deployment/argocd-repo-server --tail 20",
    ),
    (
        f"{BUILD}`kustomize build` failed exit status 1: Error: x",
        "what Git has cannot be built: `kustomize build` failed exit status 1: Error: x",
        "gen check",
    ),
    (
        "Retrying operation with latest revisions. Attempt #3",
        "its sync failed and begins anew; what failed is said when this attempt ends",
        "gen status --cluster small",
    ),
    (
        "Skipping sync attempt to [f8527e2]: auto-sync will wipe out all resources",
        "Git holds nothing for it any more, and Argo CD empties no Application by itself",
        "gen sync --cluster small",
    ),
]


@pytest.mark.parametrize(("text", "why", "command"), SAID)
def test_what_a_text_means(text: str, why: str, command: str) -> None:
    for said in (text, f"{text}. Retrying attempt #3 at 6:00PM."):
        found = meaning(said, "shop", "small")
        assert (found.why, found.command) == (why, command)


def test_every_text_has_a_case() -> None:
    used = {next(one.why for one in MESSAGES if _meant(one.pattern, text)) for text, *_ in SAID}
    assert used == {one.why for one in MESSAGES}


def _meant(pattern: str, text: str) -> bool:
    import re

    return bool(re.search(pattern, text))


def test_a_text_that_nobody_knows_is_repeated_in_one_line() -> None:
    found = meaning("something\n  else " + "x" * 1000, "shop", "small")
    assert found.why.startswith("something else x")
    assert len(found.why) == LONGEST
    assert found.command == "kubectl --namespace argocd get application shop --output yaml"


def test_braces_in_a_text_do_no_harm() -> None:
    assert (
        meaning('namespaces "{cluster}" not found', "shop", "small").why == "the namespace {cluster} is not there (yet)"
    )
