"""Rules about kinds of which nothing is known here: their definitions come later, from elsewhere, or from nobody."""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from generator.build.kinds import Kinds
from generator.build.objects import Built, Object
from generator.components import CATALOGUE, wanted
from generator.components.secret_store import GROUP as STORE_GROUP
from generator.components.volcano import JOB_GROUPS
from generator.model.finding import Finding, Severity
from generator.model.plural import plural
from generator.model.rule import rule
from generator.rules.job_operators import not_run

_MAKERS = {api.group: one.name for one in CATALOGUE.values() for api in one.apis if api.by_operator}
"""Components whose operators make CRDs when they start, by API group."""


@rule("GEN-API-004", "the kind is known", severity=Severity.WARNING)
def known_kinds(built: Built) -> Iterator[Finding]:
    """Without its CRD nothing can be said about an object: neither its fields nor its namespace are judged, and a
    kind that no CRD brings is refused. CRDs come with `gen vendor`; those that operators install when they start can
    be given with `--schemas`. Told once for each kind; those of Cilium's operator, and of the one that reads the site's
    store of secrets, are only counted as not judged.

    Wrong:
        (a CephCluster, and nowhere the CRD of Rook)
    Right:
        (after `gen vendor`, or with --schemas and a folder that holds the CRD)
    """
    told: dict[tuple[str, str], list[Object]] = {}
    for one in _unknown(built)[0]:
        told.setdefault((one.group, one.kind), []).append(one)
    for (group, kind), found in told.items():
        objects = "one object" if len(found) == 1 else f"{len(found)} objects"
        unjudged = f"the fields of {objects} are not judged"
        if nowhere(found[0], built):
            message = f"nothing here serves {kind}.{group}: the API server refuses it; {unjudged}"
            yield found[0].finding(message, "apiVersion", fix=_serving(group))
            continue
        where = "here: not vendored" if built.unvendored else "among what is applied"
        message = f"no CRD of {kind}.{group} {where}; {unjudged}"
        fix = "give its CRD with --schemas DIR" + (", or run `gen vendor`" if built.unvendored else "")
        cause = f"CRDs of {built.name} that are not vendored" if built.unvendored else ""
        yield found[0].finding(message, "apiVersion", fix=fix, cause=cause)


def nowhere(one: Object, built: Built) -> bool:
    """Tell whether no component of a cluster is known to serve the kind of what somebody brings, and nothing that could
    is out of sight.
    """
    if not built.cluster or one.component or not Kinds.of(built).foreign(one):
        return False
    hidden = any(name not in CATALOGUE for name in (*built.unseen, *built.remote))
    return not hidden and not {(one.group, ""), (one.group, one.kind)} & _served_groups(built)


def _serving(group: str) -> str:
    """Say what to do about a kind of a group that nothing on the cluster serves."""
    able = [one for one in CATALOGUE.values() if group in {api.group for api in one.apis}]
    known = " or ".join(f"component {one.name} would serve it ({one.absence})" for one in able)
    bring = f": {known}" if able else ", or bring its operator as one of `extras`"
    return f"leave it out{bring}; if the cluster has it all the same: --schemas DIR, with its CRD"


@lru_cache(maxsize=2)
def _served_groups(built: Built) -> set[tuple[str, str]]:
    """Return the API groups that components serve or have objects of, with the kind where it is only one."""
    here = wanted(built.cluster).values() if built.cluster else ()
    said = {(api.group, kind) for one in here for api in one.apis for kind in api.kinds or ("",)}
    return {*said, *((group, "") for group in JOB_GROUPS), *((one.group, "") for one in built.objects if one.component)}


def unproven(built: Built) -> Iterator[str]:
    """Say of what kinds the fields are not judged because an operator brings their CRDs."""
    for group, count in sorted(Counter(one.group for one in _unknown(built)[1]).items()):
        fields = f"the fields of {plural(count, 'object')} of {group}"
        yield f"{fields}, whose CRDs {_later(built)[group]}; --schemas DIR judges them"


def _unknown(built: Built) -> tuple[list[Object], list[Object]]:
    """Return the objects whose CRDs are not here, those apart whose CRDs are in nothing that gen installs."""
    known, later = Kinds.of(built), _later(built)
    # Of kinds that nobody runs here GEN-JOB-004 says it: no CRD of theirs is missing.
    foreign = [one for one in built.objects if known.foreign(one) and not not_run(one, built)]
    return [one for one in foreign if one.group not in later], [one for one in foreign if one.group in later]


def _later(built: Built) -> dict[str, str]:
    """Return the API groups whose CRDs are in no chart here, and where they come from."""
    there = {*built.unseen, *(one.component for one in built.objects)}
    found = {group: f"{maker} makes when it starts" for group, maker in _MAKERS.items() if maker in there}
    if built.cluster and built.cluster.site.secrets:
        found[STORE_GROUP] = "come with the site's own operator"
    return found
