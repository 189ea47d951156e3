"""What teams may rely on, tried on a twin with nothing else in its queues: each promise with what was seen."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import monotonic, sleep

from msgspec import Struct, structs

from generator.components.component import Manifest
from generator.live.api import Request
from generator.live.running import RunningCluster
from generator.model.fields import dig, holds, sequence
from generator.rehearsal.jobs import KUEUE, QUEUE, Share, job, shares, submit

PATIENCE = 40.0
"""Seconds for what takes a few on an idle machine."""
NEVER = 5.0
"""Seconds in which what must not happen would have happened."""
CLASSES = f"{KUEUE}/workloadpriorityclasses"


class Promise(Struct, frozen=True, kw_only=True):
    """One promise: whether it held, None where the cluster has nothing to try it with, and what was seen."""

    name: str
    held: bool | None
    seen: str
    seconds: float = 0.0


class BrokenError(Exception):
    """What was seen instead of what was promised."""


class UntriedError(Exception):
    """Why a promise cannot be tried here."""


class Trial:
    """The queues of a twin and what a trial does there."""

    def __init__(self, cluster: RunningCluster, tick: Callable[[], object] = lambda: None) -> None:
        self.cluster, self.tick = cluster, tick
        self.shares = [one for one in shares(cluster) if one.pods and one.device != "cpu"]

    def most(self, least: int = 1) -> Share:
        """Return the share with the most pods."""
        found = max(self.shares, key=lambda one: one.pods, default=None)
        if found is None or found.pods < least:
            raise UntriedError(f"no team owns {least} pods' worth of devices")
        return found

    def others(self, share: Share) -> list[Share]:
        """Return what other teams own of the same devices."""
        same = (share.flavor, share.device)
        return [one for one in self.shares if (one.flavor, one.device) == same and one.team != share.team]

    def start(self, share: Share, name: str, pods: int, priority: str = "") -> None:
        """Send a job that must be taken."""
        answer = submit(self.cluster, share.team, job(share, name, pods, priority))
        if not answer.good:
            raise BrokenError(f"{share.team}/{name} is refused: {answer.message}")

    def bound(self, share: Share, name: str = "", on: frozenset[str] = frozenset()) -> int:
        """Return how many pods of a job, or of the team, have a node, one of these where some are given."""
        more = {"labelSelector": f"batch.kubernetes.io/job-name={name}"} if name else {}
        pods = self.cluster.items(f"/api/v1/namespaces/{share.team}/pods", **more)
        found = [one["spec"].get("nodeName") for one in pods if "deletionTimestamp" not in one["metadata"]]
        return sum(bool(one and (not on or one in on)) for one in found)

    def runs(self, share: Share, name: str, pods: int) -> None:
        """Wait until all pods of a job have a node. Raises BrokenError."""
        self.until(f"{share.team}/{name}: {pods} pods run", lambda: self.bound(share, name) == pods)

    def until(self, what: str, check: Callable[[], bool]) -> None:
        """Wait until something holds. Raises BrokenError."""
        end = monotonic() + PATIENCE
        while not check():
            if monotonic() > end:
                raise BrokenError(f"{what}: not within {PATIENCE:g} s")
            self.tick()
            sleep(0.2)

    def highest(self, value: Callable[[], int], seconds: float = NEVER) -> int:
        """Return the highest value seen within some seconds."""
        end, found = monotonic() + seconds, value()
        while monotonic() < end:
            sleep(0.2)
            found = max(found, value())
        return found

    def fill_others(self, share: Share) -> None:
        """Let all other teams have what they own, of whatever devices: nothing is left to borrow."""
        some = [one for one in self.shares if one.team != share.team]
        for one in some:
            self.start(one, f"full-{one.flavor}", one.pods)
        for one in some:
            self.runs(one, f"full-{one.flavor}", one.pods)

    def cordon(self, names: Sequence[str], *, away: bool) -> None:
        """Take nodes from the schedulers, or give them back."""
        for name in names:
            self.cluster.merge(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True if away else None}})

    def nodes(self, share: Share) -> list[str]:
        """Return the nodes of a share's flavor."""
        flavor = self.cluster.get(f"{KUEUE}/resourceflavors/{share.flavor}") or {}
        labels = (dig(flavor, "spec", "nodeLabels") or {}).items()
        machines = self.cluster.items("/api/v1/nodes")
        return [one["metadata"]["name"] for one in machines if labels <= one["metadata"]["labels"].items()]

    def clean(self) -> None:
        """Take away all that teams run."""
        teams = {one.team for one in self.shares}
        for team in teams:
            for path in ("/apis/batch/v1/namespaces/{}/jobs", "/api/v1/namespaces/{}/pods", f"{KUEUE}{WORKLOADS}"):
                query = "propagationPolicy=Background&gracePeriodSeconds=0"
                self.cluster.api.ask(Request(path=f"{path.format(team)}?{query}", method="DELETE"))
        for team in teams:
            self.until(f"{team} is idle", partial(self._idle, team))

    def _idle(self, team: str) -> bool:
        places = (f"{KUEUE}{WORKLOADS}", "/api/v1/namespaces/{}/pods")
        return not any(any(self.cluster.items(place.format(team))) for place in places)


WORKLOADS = "/namespaces/{}/workloads"


def gang(trial: Trial) -> str:
    """Start a gang where one pod has no room; then give it room."""
    share = trial.most(2)
    away = trial.nodes(share)[share.pods - 1 :]
    trial.cordon(away, away=True)
    try:
        trial.start(share, "gang", share.pods)
        seen = trial.highest(lambda: trial.bound(share, "gang"))
    finally:
        trial.cordon(away, away=False)
    if seen:
        raise BrokenError(f"{share.team}: {seen} of {share.pods} pods started where {share.pods - 1} have room")
    trial.runs(share, "gang", share.pods)
    return f"{share.team}: none of {share.pods} pods on {share.pods - 1} nodes, all of them on {share.pods}"


def borrowing(trial: Trial) -> str:
    """Let a team ask for all that there is."""
    share, limit = _borrower(trial)
    trial.start(share, "own", share.pods)
    trial.runs(share, "own", share.pods)
    idle = sum(one.pods for one in trial.shares if one.team != share.team) + 2
    for number in range(idle):
        trial.start(share, f"more-{number}", 1)
    trial.until(f"{share.team} borrows", lambda: trial.bound(share) > share.pods)
    own = frozenset(trial.nodes(share))
    seen = trial.highest(lambda: trial.bound(share, on=own))
    room = seen if limit is None else share.pods + limit // share.each
    if seen > room:
        raise BrokenError(f"{share.team} runs {seen} pods on {share.flavor}; what it owns and may borrow is {room}")
    return f"{share.team}: {share.pods} pods of its own on {share.flavor}, {seen} with what others left idle"


def _borrower(trial: Trial) -> tuple[Share, int | None]:
    """Return a share whose team may borrow beside others, and how much of its device at the most."""
    for share in sorted(trial.shares, key=lambda one: -one.pods):
        queue = trial.cluster.get(f"{KUEUE}/clusterqueues/{_queue(trial, share)}") or {}
        flavors = [each for group in sequence(dig(queue, "spec", "resourceGroups")) for each in group["flavors"]]
        limits = [
            each.get("borrowingLimit")
            for one in flavors
            for each in one["resources"]
            if (one["name"], each["name"]) == (share.flavor, share.device)
        ]
        if trial.others(share) and limits and limits[0] != "0" and dig(queue, "spec", "cohortName"):
            return share, int(limits[0]) if limits[0] is not None else None
    raise UntriedError("no team may borrow from another one")


def _queue(trial: Trial, share: Share) -> str:
    local = trial.cluster.get(f"{KUEUE}/namespaces/{share.team}/localqueues/{share.queue}")
    return str(dig(local or {}, "spec", "clusterQueue"))


def reclaim(trial: Trial) -> str:
    """Let a team borrow, and the owner come back."""
    share, _ = _borrower(trial)
    owner = max(trial.others(share), key=lambda one: one.pods)
    rest = [one for one in trial.shares if one.team not in {share.team, owner.team}]
    for one in rest:
        trial.start(one, f"full-{one.flavor}", one.pods)
    for number in range(share.pods + owner.pods):
        trial.start(share, f"own-{number}", 1)
    trial.until(f"{share.team} borrows", lambda: trial.bound(share) > share.pods)
    trial.highest(lambda: 0, 2.0)
    had = trial.bound(share)
    trial.start(owner, "back", owner.pods)
    trial.runs(owner, "back", owner.pods)
    left = trial.bound(share)
    if left < share.pods:
        raise BrokenError(f"{share.team} keeps {left} pods of the {share.pods} that it owns")
    return f"{owner.team} got {owner.pods} pods; {share.team} went from {had} to {left}, and owns {share.pods}"


def priority(trial: Trial) -> str:
    """Fill all queues, one with low work, and send urgent work there."""
    share = trial.most()
    classes = sorted(trial.cluster.items(CLASSES), key=lambda one: int(one["value"]))
    if len(classes) < 2:
        raise UntriedError("there are not two priorities")
    low, high = classes[0]["metadata"]["name"], _highest(trial, share, classes[1:])
    trial.fill_others(share)
    trial.start(share, "low", share.pods, low)
    trial.runs(share, "low", share.pods)
    trial.start(share, "high", share.pods, high)
    trial.runs(share, "high", share.pods)
    left = trial.bound(share, "low")
    return f"{share.team}: {share.pods} pods of class {high} ran at once; of {low} work {left} are left"


def _highest(trial: Trial, share: Share, classes: Sequence[Manifest]) -> str:
    """Return the highest class that the team may use, as the API server says."""
    for one in reversed(classes):
        name = str(one["metadata"]["name"])
        if submit(trial.cluster, share.team, job(share, "may", 1, name), "?dryRun=All").good:
            return name
    raise UntriedError(f"{share.team} may use no class but the lowest")


def no_way_round(trial: Trial) -> str:
    """Send a job without a queue, a bare pod, and a job that is no gang."""
    share = trial.most()
    much = {**share.limits, share.device: str(share.own * 100)}
    large = structs.replace(share, limits=much)
    loose = job(large, "loose", 1)
    loose["metadata"]["labels"].pop(QUEUE)
    bare: Manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "bare", "namespace": share.team},
        "spec": job(share, "bare", 1)["spec"]["template"]["spec"] | {"schedulerName": "default-scheduler"},
    }
    trial.fill_others(share)
    trial.start(share, "own", share.pods)
    trial.runs(share, "own", share.pods)
    said = {one["metadata"]["name"]: submit(trial.cluster, share.team, one) for one in (loose, bare)}
    seen = trial.highest(lambda: trial.bound(share))
    if seen > share.pods and not _borrowed(trial, share):
        raise BrokenError(f"{share.team} runs {seen} pods and owns {share.pods}: {', '.join(said)} got past the queue")
    scattered = job(share, "scattered", 2)
    scattered["metadata"]["annotations"] = {}
    answer = submit(trial.cluster, share.team, scattered)
    if answer.good and share.pods > 1:
        raise BrokenError(f"{share.team}: a job of two pods that is no gang is taken")
    words = [f"{name} {'waits' if one.good else 'is refused'}" for name, one in said.items()]
    return f"{share.team}: {', '.join(words)}, a job that is no gang is refused"


def _borrowed(trial: Trial, share: Share) -> bool:
    """Tell whether a pod more was let in by Kueue: it borrowed what nobody owns."""
    loads = [one for one in trial.cluster.items(f"{KUEUE}/namespaces/{share.team}/workloads") if holds(one, "Admitted")]
    return len(loads) > 1


PROMISES: dict[str, Callable[[Trial], str]] = {
    "A gang starts whole or not at all": gang,
    "What others leave idle can be borrowed, up to the limit": borrowing,
    "Who owns a quota gets it back, and nobody falls below his own": reclaim,
    "Urgent work takes the place of the team's own low work": priority,
    "What a member sends past the queue waits or is refused": no_way_round,
}
"""What is promised, and how it is tried: returns what was seen."""


def promises(trial: Trial) -> Iterator[Promise]:
    """Try the promises one after the other, each on empty queues. Raises UsageError where the twin does not answer."""
    for name, one in PROMISES.items():
        begun = monotonic()
        try:
            trial.clean()
            held, seen = True, one(trial)
        except BrokenError as error:
            held, seen = False, str(error)
        except UntriedError as error:
            held, seen = None, str(error)
        yield Promise(name=name, held=held, seen=seen, seconds=round(monotonic() - begun, 1))
    trial.clean()
