"""Rules about components of the user's own."""

import re
from collections.abc import Iterator

from generator.checks.places import entries, unknown
from generator.checks.versions import COMPONENTS, MOST_OF_A_RELEASE
from generator.components import CATALOGUE, absent, catalogue
from generator.components.argo_cd import NAMESPACE as ARGO_CD
from generator.components.component import OF_DEFINITIONS
from generator.model.cluster import Cluster
from generator.model.finding import Finding, remove
from generator.model.rule import rule, warning

TAKEN = COMPONENTS | {"root", "kustomization"}
"""Names of gen's own Applications, and of the file beside a release's values."""


_BRANCH = "(?:main|master|HEAD|develop|trunk)"
_MOVING = (
    rf"(?<=raw\.githubusercontent\.com/)[^/]+/[^/]+/(?:refs/heads/|{_BRANCH}/)|/releases/latest/"
    rf"|(?<=/)(?:raw|blob)/(?:branch/|refs/heads/|{_BRANCH}/)"
)
"""What in the address of a file of GitHub, GitLab, Gitea or Forgejo names a branch, or the latest release."""
OF_ARGO_CD = f"{ARGO_CD} is Argo CD's namespace: what it holds decides what may be written anywhere"


@rule("GEN-EXT-001", "names of your own for components of your own")
def own_name(cluster: Cluster) -> Iterator[Finding]:
    """An Application, a folder and a Helm release have the component's name: two of one name would write one folder.
    Helm takes names of up to 53 characters.

    Wrong:
        extras: {minio: {namespace: mine, chart: {name: minio, ...}}}
    Right:
        extras: {minio-of-media: {namespace: mine, chart: {name: minio, ...}}}
    """
    for name in cluster.extras:
        at = ("extras", name)
        if name in TAKEN or name.endswith(OF_DEFINITIONS):
            settings = "; its settings stand below `components`" if name in COMPONENTS else ""
            message, fix = f"gen has an Application {name} itself{settings}", "another name"
            yield Finding(at=at, key=True, message=message, fix=fix)
        elif len(name) > MOST_OF_A_RELEASE:
            message = f"the name has {len(name)} characters, and Helm takes {MOST_OF_A_RELEASE}"
            yield Finding(at=at, key=True, message=message, fix="a shorter name")


@rule("GEN-EXT-002", "needs of components that are there")
def needs_known(cluster: Cluster) -> Iterator[Finding]:
    """What nobody installs is never healthy, and what needs it would wait for ever.

    Wrong:
        extras: {loki: {namespace: loki, needs: [ceph]}}
    Right:
        extras: {loki: {namespace: loki, needs: [ceph-cluster]}}
    """
    known, without = catalogue(cluster), absent(cluster)
    for name, extra in cluster.extras.items():
        others = [each for each in known if each != name]
        for at, need in entries(extra.needs, "extras", name, "needs"):
            if need not in others:
                message = f"there is no component {need}"
                yield unknown(at, need, others, message, "docs/components.md lists them")
            elif need in without and extra.installed:
                yield Finding(at=at, message=f"{need} is not installed here: {without[need]}", edits=remove(at))


@rule("GEN-EXT-003", "needs do not lead round in a circle")
def no_circle(cluster: Cluster) -> Iterator[Finding]:
    """Each would wait for the other to be healthy before it is installed.

    Wrong:
        extras:
          loki: {namespace: loki, needs: [alloy]}
          alloy: {namespace: loki, needs: [loki]}
    Right:
        extras:
          loki: {namespace: loki}
          alloy: {namespace: loki, needs: [loki]}
    """
    told: set[str] = set()
    for name in cluster.extras:
        circle = _circle(cluster, name) if name not in told else ()
        if circle:
            told.update(circle)
            at = ("extras", name, "needs")
            message = f"each waits for the next: {' -> '.join((*circle, name))}"
            yield Finding(at=at, key=True, message=message, fix="take one of these needs out")


def _circle(cluster: Cluster, start: str) -> tuple[str, ...]:
    """Return the shortest way from a component over its needs back to itself, without its end; empty if none is."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    while ways:
        way = ways.pop(0)
        extra = cluster.extras.get(way[-1])
        for need in extra.needs if extra else ():
            if need == start:
                return way
            if need not in seen:
                seen.add(need)
                ways.append((*way, need))
    return ()


@rule("GEN-EXT-004", "a namespace that its Pod Security and its rights suit")
def namespace_free(cluster: Cluster) -> Iterator[Finding]:
    """A team's namespace has the team's quota, policies and rights: what the platform runs there would be at the mercy
    of both, and a project that reaches it takes it from the project of the teams. A namespace has one Pod Security
    level, and one of gen's has that which gen's component needs.

    Wrong:
        extras: {tracking: {namespace: vision, ...}}
        # and a team vision
    Right:
        extras: {tracking: {namespace: tracking, ...}}
    """
    teams = {team.name for team in cluster.teams}
    unmade = _unmade(cluster)
    levels: dict[str, tuple[str, str]] = {}
    for name, extra in cluster.extras.items():
        for at, reached in entries(extra.reach, "extras", name, "reach"):
            if reached in teams:
                yield Finding(at=at, message=f"{reached} is the namespace of a team", edits=remove(at))
            elif reached == ARGO_CD:
                yield Finding(at=at, message=OF_ARGO_CD, edits=remove(at))
        space, level = extra.namespace, str(extra.security)
        other, first = levels.setdefault(space, (name, level))
        if space in teams:
            message, key = f"{space} is the namespace of a team", "namespace"
        elif space == ARGO_CD:
            message, key = OF_ARGO_CD, "namespace"
        elif space in unmade:
            message, key = f"{space} is the namespace of {unmade[space]}, which is not installed here", "namespace"
        elif level != first:
            message, key = f"its namespace {space} is {first} for {other} and {level} here", "security"
        else:
            continue
        fix = "a namespace of its own"
        yield Finding(at=("extras", name, key), message=message, fix=fix)


def _unmade(cluster: Cluster) -> dict[str, str]:
    """Return the namespaces of gen's components that no component of this cluster has, each with whose it is."""
    without = absent(cluster)
    spaces = [(space, one.name) for one in CATALOGUE.values() for space in one.namespaces]
    made = {space for space, name in spaces if name not in without}
    return {space: name for space, name in spaces if space not in made}


@warning("GEN-EXT-005", "chart values for what has a chart")
def values_taken(cluster: Cluster) -> Iterator[Finding]:
    """Values and decisions on hooks are Helm's: upstream manifests and folders do not read them.

    Wrong:
        extras: {tools: {namespace: tools, folder: apps/tools, values: {replicas: 2}}}
    Right:
        extras: {tools: {namespace: tools, folder: apps/tools}}
    """
    for name, extra in cluster.extras.items():
        idle = [key for key in ("values", "hooks") if getattr(extra, key)]
        if idle and not extra.chart:
            message = f"{name} has no chart, so {' and '.join(idle)} {'have' if idle[1:] else 'has'} no effect"
            edits = tuple(edit for key in idle for edit in remove(("extras", name, key)))
            yield Finding(at=("extras", name, idle[0]), key=True, message=message, edits=edits)


@rule("GEN-EXT-007", "a Secret that one component alone declares")
def secret_once(cluster: Cluster) -> Iterator[Finding]:
    """A Secret is one object, whoever declares it: `gen bootstrap` makes it once, with the keys and the source of one
    of them, and whoever replaces it for one component replaces it for the other.

    Wrong:
        extras:
          loki: {namespace: logs, secrets: [{name: store, keys: [access]}]}
          tempo: {namespace: logs, secrets: [{name: store, keys: [token]}]}
    Right:
        extras:
          loki: {namespace: logs, secrets: [{name: store, keys: [access, token]}]}
          tempo: {namespace: logs, needs: [loki]}
    """
    spaces = {extra.namespace for extra in cluster.extras.values() if extra.secrets}
    declared = {place: name for space in spaces for place, name in _of_gen(cluster, space)}
    for name, extra in cluster.extras.items():
        for at, secret in entries(extra.secrets, "extras", name, "secrets"):
            other = declared.setdefault((extra.namespace, secret.name), name)
            if other != name or at[-1] != [one.name for one in extra.secrets].index(secret.name):
                where = f"{other} as well" if other != name else "this component twice"
                message = f"the Secret {extra.namespace}/{secret.name} is declared by {where}"
                yield Finding(at=at, message=message, fix="declare it once, with all keys; or another name")


def _of_gen(cluster: Cluster, space: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the Secrets that gen's components declare in a namespace, each with whose it is."""
    for one in CATALOGUE.values():
        if one.make and space in (*one.namespaces, *one.reach) and one.wanted(cluster):
            for secret in one.make(cluster).secrets:
                yield (secret.namespace, secret.name), one.name


@rule("GEN-EXT-008", "manifests of upstream that stay as they are")
def manifests_fixed(cluster: Cluster) -> Iterator[Finding]:
    """`gen.lock` has the digest of each file that was vendored. Until then Argo CD asks for it with each sync: from a
    branch it gets what somebody pushed a minute ago. An address that is no file is a repository to Kustomize, which
    takes its newest commit.

    Wrong:
        manifests: ["https://raw.githubusercontent.com/metallb/metallb/main/config/manifests/metallb-native.yaml"]
    Right:
        manifests: ["https://raw.githubusercontent.com/metallb/metallb/v0.15.2/config/manifests/metallb-native.yaml"]
    """
    for name, extra in cluster.extras.items():
        for at, url in entries(extra.manifests, "extras", name, "manifests"):
            path = url.partition("#")[0].partition("?")[0]
            moving = re.search(_MOVING, url)
            if not path.endswith((".yaml", ".yml", ".json")):
                yield Finding(at=at, message=f"{url} is no file", fix="the address of a file: .yaml, .yml or .json")
            elif moving:
                message = f"{url} is another file tomorrow: {moving[0].strip('/')} moves"
                yield Finding(at=at, message=message, fix="the same file at a tag or a commit")
