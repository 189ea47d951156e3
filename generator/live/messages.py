"""What Argo CD, API servers, schedulers and kubelets say when something does not go on, and what it means.

The texts: argo-cd v3.5 (`controller/sync.go`, `gitops-engine/pkg/sync/sync_context.go`), Kubernetes v1.35 (quota and
webhook admission, `pkg/kubelet/events`), tried in `tests/real/test_live_status.py` as far as these run there.
"""

import re

from msgspec import Struct

from generator.review.values import one_line

_ATTEMPT = re.compile(r"\.? Retrying attempt #\d+ at \S+$")
LONGEST = 300
"""Characters of what a program says that are repeated."""
LONGEST_LINE = 1000
"""Characters of a line that holds several such texts and names, of 253 characters each at most."""


class Meaning(Struct, frozen=True):
    """What a text means, in words, and the command that helps."""

    why: str
    command: str


class Message(Struct, frozen=True):
    """A text that is known: `pattern` with groups, which stand in `why` and `command` as `{name}`; `{component}` is the
    Application, `{cluster}` the cluster.
    """

    pattern: str
    why: str
    command: str


MESSAGES = (
    Message(
        r"waiting for pruning confirmation(?: of (?P<what>.+?))?(?: and \d+ more \w+)?$",
        "it waits for a person: {what} left Git, and goes only when that is confirmed",
        "gen sync --cluster {cluster}",
    ),
    Message(
        r'could not find (?P<kind>\S+) for requested resource (?P<what>\S+?)\. Make sure the "?(?P<crd>[^"]+)"? CRD',
        "nothing in the cluster defines the kind {kind} of {what}: its definition is not installed (yet)",
        "gen check --server",
    ),
    Message(
        r"^Retrying operation",
        "its sync failed and begins anew; what failed is said when this attempt ends",
        "gen status --cluster {cluster}",
    ),
    Message(
        r"auto-sync will wipe out all resources",
        "Git holds nothing for it any more, and Argo CD empties no Application by itself",
        "gen sync --cluster {cluster}",
    ),
    Message(
        r'no matches for kind "(?P<kind>[^"]+)" in version "(?P<version>[^"]+)"',
        "nothing in the cluster defines {kind} of {version}: its definition is not installed (yet)",
        "gen check --server",
    ),
    Message(
        r"resource (?P<kind>\S+) is not permitted in project (?P<project>[\w.-]+)",
        "its project {project} does not permit {kind}",
        "gen check",
    ),
    Message(
        r"(?:namespace|application destination) (?P<what>.+?) "
        r"(?:is not permitted|do not match any).+?project '?(?P<project>[\w.-]+)",
        "its project {project} does not permit {what}",
        "gen check",
    ),
    Message(
        r"application repo (?P<repo>\S+) is not permitted in project '?(?P<project>[\w.-]+)",
        "its project {project} does not permit the repository {repo}",
        "gen check",
    ),
    Message(
        r'failed calling webhook "(?P<hook>[^"]+)".*no endpoints available for service "(?P<service>[^"]+)"',
        "the webhook {hook} answers nobody: no pod stands behind its Service {service}",
        "kubectl get pods --all-namespaces | grep -v Running",
    ),
    Message(
        r'failed calling webhook "(?P<hook>[^"]+)".*?: (?P<said>[^:]*(?:: [^:]*)?)$',
        "the webhook {hook} does not answer: {said}",
        "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
    ),
    Message(
        r"exceeded quota: (?P<quota>[^,]+), requested: (?P<asked>\S+), used: (?P<used>\S+), limited: (?P<limit>\S+)",
        "the quota {quota} is used up: {asked} asked for, {used} used of {limit}",
        "kubectl describe resourcequota {quota}",
    ),
    Message(
        r"violates PodSecurity \"(?P<level>[^\"]+)\": (?P<said>.+)",
        "its namespace allows only pods of level {level}: {said}",
        "gen check",
    ),
    Message(
        r"(?P<field>[\w.\[\]]+): Invalid value: .*?field is immutable",
        "the API server lets nobody change {field} of what exists",
        "gen diff",
    ),
    Message(
        r'namespaces "(?P<name>[^"]+)" not found',
        "the namespace {name} is not there (yet)",
        "gen sync namespaces --cluster {cluster}",
    ),
    Message(
        r"app path does not exist|(?P<path>\S+): no such file or directory",
        "the commit has no folder for it",
        "gen render --check",
    ),
    Message(
        r"(?i)authentication required|repository not found|permission denied \(publickey|"
        r"invalid username or (?:password|token)",
        "Argo CD may not read the repository: its credentials are missing or wrong",
        "gen bootstrap --cluster {cluster}",
    ),
    Message(
        r"unable to resolve '(?P<name>[^']+)' to a commit SHA",
        "the repository has no branch or commit {name}",
        "git push origin HEAD:{name}",
    ),
    Message(
        r"(?:lookup \S+|dial tcp \S+): (?P<said>.+)|(?P<late>context deadline exceeded)",
        "Argo CD does not reach what it needs: {said}{late}",
        "kubectl --namespace argocd logs deployment/argocd-repo-server --tail 20",
    ),
    Message(
        r"Failed to load target state: failed to generate manifest.*?desc = (?P<said>.+)",
        "what Git has cannot be built: {said}",
        "gen check",
    ),
)
HINT = "kubectl --namespace argocd get application {component} --output yaml"


def meaning(text: str, component: str, cluster: str) -> Meaning:
    """Return what a text means; where it is not known, the text itself and where to read more."""
    text = _ATTEMPT.sub("", " ".join(text.split()))
    for one in MESSAGES:
        if found := re.search(one.pattern, text):
            given = {"component": component, "cluster": cluster}
            given |= {key: value or "" for key, value in found.groupdict().items()}
            return Meaning(shortened(one.why.format_map(given)), one.command.format_map(given))
    return Meaning(shortened(text), HINT.format(component=component))


def shortened(text: str, most: int = LONGEST) -> str:
    """Return what a program says, in one line and not for ever."""
    return _clipped(" ".join(text.split()), most)


def printed(text: str) -> str:
    """Return a line for a terminal that holds what a cluster says: what cannot be seen, line ends and tabs among it,
    stands as an escape, and it is not endless.
    """
    return _clipped(one_line(text), LONGEST_LINE)


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
