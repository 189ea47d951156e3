"""A cluster as it is, as one page: pictures first."""

from collections import Counter
from collections.abc import Iterable

from generator.components.component import Secret
from generator.model.nodes import Machine
from generator.model.plural import plural
from generator.model.quantity import Quantity
from generator.review.markup import EMPTY, Html, Part, prose, tag
from generator.review.page import page, section, table
from generator.review.pictures.bars import Bar, bar
from generator.review.pictures.leaves import leaf
from generator.review.pictures.racks import kind, rack
from generator.review.pictures.waves import Step, waves
from generator.review.state import Owned, Shared, State, place_of
from generator.review.stores import Store

_SOURCES = ("given", "generated", "external", "in-cluster")
_KINDS = {"fill-gpu": "GPUs", "fill-store": "disks", "fill-cpu": "CPUs only", "fill-control": "control plane"}


def report_page(found: State) -> str:
    """Return the page of one cluster."""
    return page(
        f"gen report: {found.cluster.name}",
        tag("h1", found.cluster.name),
        tag("ul", [tag("li", each, class_="card") for each in facts(found)], class_="counts"),
        _racks(found),
        _fabric(found),
        _storage(found),
        _quotas(found),
        _order(found),
        _secrets(found),
        _images(found),
        _findings(found),
        _waivers(found),
    )


def facts(found: State) -> list[str]:
    """Return what people ask first."""
    cluster = found.cluster
    gpus = sum(machine.gpus for machine in cluster.machines)
    free = sum(one.free for one in found.leaves)
    said = [
        f"Kubernetes {cluster.kubernetes.version}, {cluster.networks.cni}",
        plural(len(cluster.machines), "node"),
        f"{plural(gpus, 'GPU')} on {plural(len(cluster.gpu_nodes), 'node')}",
        f"{plural(free, 'free port')} on {plural(len(found.leaves), 'leaf switch', 'leaf switches')}",
        plural(len(cluster.teams), "team"),
        plural(len(found.components), "component"),
    ]
    return [*said, to_make(found)]


def to_make(found: State) -> str:
    """Return how many Secrets the steps of the bootstrap make: of values that people have, and of random ones."""
    sources = Counter(secret.source for one in found.components for secret in one.secrets)
    given, generated = sources["given"], sources["generated"]
    return f"{plural(given + generated, 'Secret')} to make: {given} given, {generated} generated"


def _figures(drawn: Iterable[Html]) -> Html:
    figures = list(drawn)
    return tag("div", figures, class_="pictures") if figures else EMPTY


def _racks(found: State) -> Html:
    there = {kind(machine) for machine in found.cluster.machines}
    legend = [
        tag("li", tag("span", "", class_=f"spot {name}"), words) for name, words in _KINDS.items() if name in there
    ]
    heads = ("node", "pool", "rack", "address", "hardware")
    rows: list[tuple[Part, ...]] = [
        (one.name, one.pool, one.rack or "", str(one.address), hardware(one)) for one in found.cluster.machines
    ]
    return section(
        "Racks and nodes",
        tag("ul", legend, class_="counts"),
        _figures(map(rack, found.racks)),
        _folded(f"All {plural(len(rows), 'node')}", table(heads, rows)),
    )


def hardware(machine: Machine) -> str:
    """Return what is in a node."""
    have = machine.hardware
    gpus = f"{have.gpu.count} x {have.gpu.model}, " if have.gpu and have.gpu.count else ""
    disks = sum(disk.count for disk in have.disks)
    more = f", {plural(len(have.hcas), 'HCA')}" if have.hcas else ""
    return f"{gpus}{have.cpu} CPUs, {have.memory}{more}" + (f", {plural(disks, 'disk')}" if disks else "")


def _folded(title: str, inside: Html) -> Html:
    return tag("details", tag("summary", title), inside) if inside else EMPTY


def _fabric(found: State) -> Html:
    legend = [
        tag("li", tag("span", "", class_=f"spot {name}"), words)
        for name, words in {"fill-gpu": "used", "fill-mild": "kept for uplinks", "fill-free": "free"}.items()
    ]
    note = "Which ports the uplinks take the file does not say: they are drawn as the last ones."
    drawn = _figures(map(leaf, found.leaves))
    return section("Leaf switches", tag("ul", legend, class_="counts"), drawn, note=note) if found.leaves else EMPTY


def _storage(found: State) -> Html:
    heads = ("tier", "what has it", "how it is kept", "holds if alone", "quota")
    rows: list[tuple[Part, ...]] = [
        (one.name, room.name, room.kept, human(room.usable), human(room.quota) if room.quota else "none")
        for one in found.stores
        for room in one.rooms
    ]
    return section("Storage", _figures(map(_store, found.stores)), table(heads, rows))


def _store(one: Store) -> Html:
    taken = tuple((room.name.rpartition(" ")[2], room.taken) for room in one.rooms if room.taken)
    caption = f"{room_of(one)} ({one.about})"
    return bar(Bar(name=one.name, caption=caption, whole=one.fillable, parts=taken, rest="not given away", told=human))


def room_of(one: Store) -> str:
    """Return how much there is, and what quotas give away of it."""
    taken = sum(room.taken for room in one.rooms)
    given = f", {human(taken)} given away by quotas" if taken else ""
    return f"{human(one.fillable)} of {human(one.raw)} raw can be filled{given}"


def human(amount: int) -> str:
    """Return bytes for people."""
    return Quantity.of(amount, binary=True).human()


def _quotas(found: State) -> Html:
    heads = ("pool", "team", "owns", "may borrow", "lends")
    rows: list[tuple[Part, ...]] = [
        (one.pool, team.name, f"{team.amount} {one.what}", borrows(team), lends(team))
        for one in found.shared
        for team in one.teams
    ]
    return section("Quotas of teams", _figures(bar(quota(one)) for one in found.shared), table(heads, rows))


def quota(one: Shared) -> Bar:
    """Return how much of a pool each team owns, for a picture."""
    owners = tuple((team.team, team.amount) for team in one.teams)
    caption = f"{one.capacity} {one.what}, {one.free} owned by no team"
    return Bar(name=one.pool, caption=caption, whole=one.capacity, parts=owners, rest="owned by no team")


def borrows(team: Owned) -> str:
    """Return what a team may use beyond its own."""
    return "whatever is idle" if team.borrow is None else str(team.borrow)


def lends(team: Owned) -> str:
    """Return what of a team's own others may use."""
    return "all" if team.lend is None else str(team.lend)


def _order(found: State) -> Html:
    heads = ("wave", "component", "version", "waits for", "what it is")
    ordered = sorted(found.components, key=lambda one: (found.waves[one.name], one.name))
    rows: list[tuple[Part, ...]] = [
        (str(found.waves[one.name]), one.name, one.version, ", ".join(found.needs[one.name]), one.summary)
        for one in ordered
    ]
    caption = tag(
        "figcaption",
        "Argo CD begins a wave when the one before is healthy. A line leads from a component to those that wait for "
        "it, each with a dot; there is none from what the whole next wave waits for.",
    )
    drawn = tag("figure", waves_of(found), caption, class_="tall")
    return section("Waves", tag("div", drawn, tag("div", table(heads, rows)), class_="two"))


def waves_of(found: State) -> Html:
    """Draw what is installed, wave by wave."""
    steps = [Step(name=name, wave=wave, note=f"wave {wave}") for name, wave in found.waves.items()]
    return waves(steps, found.needs, f"{found.cluster.name}: what is installed, wave by wave")


def _secrets(found: State) -> Html:
    heads = ("Secret", "keys", "source", "its loss", "how to replace it")
    every = [one for component in found.components for one in component.secrets]
    rows = [_secret(one) for one in sorted(every, key=lambda one: _SOURCES.index(one.source))]
    note = (
        "What must exist; its values are nowhere in the repository. Given: a value that you have. Generated: a random "
        "one, made by the commands of the bootstrap. In-cluster: what is named there makes it by itself."
    )
    return section("Secrets", tag("p", f"{to_make(found)}."), table(heads, rows), note=note) if rows else EMPTY


def _secret(one: Secret) -> tuple[Part, ...]:
    source = f"{one.source}, {one.by}" if one.by else one.source
    return tag("code", f"{one.namespace}/{one.name}"), ", ".join(one.keys), source, one.loss, prose(one.rotate)


def _images(found: State) -> Html:
    heads = ("image", "digest", "wanted by")
    rows: list[tuple[Part, ...]] = [
        (tag("code", one.name), tag("code", one.digest[:19] or "none"), ", ".join(one.wanted_by))
        for one in found.images
    ]
    unseen = f"Not vendored, so that their images are not listed: {', '.join(found.unseen)}." if found.unseen else ""
    return (
        section("Images", _folded(f"All {plural(len(rows), 'image')}", table(heads, rows)), note=unseen)
        if rows or unseen
        else EMPTY
    )


def _findings(found: State) -> Html:
    heads = ("severity", "code", "where", "what", "fix")
    rows: list[tuple[Part, ...]] = [
        (one.severity.value, one.code, tag("code", place_of(one)), prose(one.message), prose(one.fix))
        for one in found.findings
    ]
    return section("Findings", table(heads, rows) or tag("p", "None."))


def _waivers(found: State) -> Html:
    heads = ("code", "on", "until", "who answers for it", "why")
    rows: list[tuple[Part, ...]] = [
        (one.code, one.on or "all", one.expires, one.owner, one.reason) for one in found.cluster.waivers
    ]
    return section("Waivers", table(heads, rows))
