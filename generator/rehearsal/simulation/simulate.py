"""An operation on nodes, played on a twin: what runs is brought there, then its own steps run."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from time import sleep

from msgspec import Struct

from generator.components.component import Manifest
from generator.components.gpu_care.names import DRAIN
from generator.components.node_operations.names import EXPANSION, NAMESPACE, REMOVAL, REPLACEMENT, UPGRADE
from generator.errors import UsageError
from generator.live.apiserver import tidied
from generator.model.fields import dig, sequence
from generator.rehearsal.jobs import KUEUE, admitted, fill
from generator.rehearsal.laid_out import LaidOut, lay_out
from generator.rehearsal.rehearse import Clock
from generator.rehearsal.simulation import assuming, kinds, preparing
from generator.rehearsal.simulation.bringing import Bringing
from generator.rehearsal.simulation.course import Course, Step, drain_seconds
from generator.rehearsal.simulation.joining import Joining
from generator.rehearsal.simulation.machines import Machines
from generator.rehearsal.simulation.played import PLAYED
from generator.rehearsal.simulation.reading import CEPH, DRIVERS, NODES, PODS, RUNS, State
from generator.rehearsal.simulation.simulation import Simulation
from generator.rehearsal.simulation.timeline import Leaving, Timeline
from generator.rehearsal.simulation.units import Unit
from generator.rehearsal.standing import Standing, standing
from generator.rehearsal.twin.twin import require
from generator.repository.sides import Side


class Wish(Struct, frozen=True, kw_only=True):
    """What is to be played: an operation, with the parameters that are `told` to its template, beside what runs in a
    cluster or, without a state, beside jobs of the teams' shapes. `tell` hears what is being done.
    """

    operation: str
    told: Callable[[Manifest], Mapping[str, str]]
    state: State | None
    tell: Callable[[str], None]


def simulate(side: Side, name: str, wish: Wish) -> Simulation:
    """Play an operation on a twin of a cluster. Raises UsageError."""
    require()
    clock = Clock(wish.tell)
    with tidied(), tempfile.TemporaryDirectory(prefix="gen-twin-") as folder, ExitStack() as stack:
        with clock.phase("tree"):
            found = lay_out(side, name, Path(folder, "a"))
        template = operation(found, wish.operation)
        given = wish.told(template)
        work = Path(folder, "t")
        work.mkdir(mode=0o700)
        with clock.phase("before"):
            base = stack.enter_context(standing(found, work))
        return Play(base, found, clock, wish.state).play(template, given, work)


def operation(found: LaidOut, name: str) -> Manifest:
    """Return the template of an operation, as the repository has it. Raises UsageError."""
    for one in found.built.objects:
        if (one.kind, one.namespace, one.name) == ("WorkflowTemplate", NAMESPACE, name):
            return one.manifest
    raise UsageError(f"{found.cluster.name} has no operation {name}: `gen workflow list` tells which it has")


def scripts(found: LaidOut, template: Manifest) -> dict[str, str]:
    """Return the files of an operation's steps."""
    names = {dig(one, "configMap", "name") for one in template["spec"]["volumes"]}
    maps = [one for one in found.built.objects if one.kind == "ConfigMap" and one.name in names]
    return {name: text for one in maps if one.namespace == NAMESPACE for name, text in one.manifest["data"].items()}


class Play:
    """Plays operations on a twin that stands. `state` is what runs, None for jobs of the teams' shapes."""

    def __init__(self, base: Standing, found: LaidOut, clock: Clock, state: State | None) -> None:
        self.base, self.found, self.clock, self.state = base, found, clock, state
        self.twin = base.twin.cluster
        self.machines = Machines(self.twin, found.cluster, base.standin.bind)
        self.assumed = [*found.notes]

    def play(self, template: Manifest, given: Mapping[str, str], folder: Path) -> Simulation:
        """Play an operation, with a folder for its files. Raises UsageError."""
        name = template["metadata"]["name"]
        new = given["node"] if name == EXPANSION else ""
        with self.clock.phase("runs"):
            made = self._bring(name, new)
            if name in preparing.TRIES:
                preparing.own_pod(self.twin, template)
        count = len([*self.twin.items(NODES)])
        jobs = sum(map(admitted, self.twin.items(f"{KUEUE}/workloads")))
        timeline = Timeline(self.twin, made, leaving(template))
        self.machines.told, self.machines.leaves = timeline.of_ceph, name in (REMOVAL, REPLACEMENT)
        inside = folder / "operation"
        inside.mkdir(mode=0o700)
        drain = drain_seconds(self.twin.items(PODS))
        course = Course(self.base.twin.plane, template, scripts(self.found, template), inside, drain)
        with self.clock.phase("operation"):
            timeline.begin()
            steps = self._run(course, timeline, given, PLAYED[name])
        return Simulation(
            cluster=self.found.cluster.name,
            operation=name,
            parameters=dict(given),
            source=f"that ran at {self.state.host} at {self.state.at}" if self.state else "of the teams' shapes",
            nodes=count,
            jobs=jobs,
            steps=tuple(steps),
            events=tuple(timeline.end()),
            assumed=(*self.assumed, *ALWAYS, SHORTENED.format(drain)),
            last="" if any(one.code for one in steps) else PLAYED[name],
            seconds=self.clock.seconds,
        )

    def _bring(self, operation: str, new: str) -> Sequence[Unit]:
        """Bring what runs, or what is assumed to; where no cluster is asked, without the node that is `new`."""
        made_up = kinds.serve(self.twin)
        self.base.twin.plane.wait("all kinds are served", lambda: kinds.all_served(self.twin))
        self.assumed += [f"{kind}: its definition is not vendored, and was made up" for kind in made_up]
        storage = self.found.cluster.storage
        if storage.ceph:
            assuming.asked(self.twin, self.found.cluster)
        if storage.ceph or storage.objects:
            self.assumed.append(OF_STORAGE)
        if self.state is None:
            self.assumed += assuming.assume(self.twin, self.found.cluster, older=operation == UPGRADE)
            for path in (NODES, DRIVERS) if new else ():
                self.twin.delete(f"{path}/{new}")
            load = fill(self.twin, self.base.standin)
            self.assumed += [f"a job was not taken: {one}" for one in load.refused]
            self.assumed += preparing.assume(self.base.twin.plane, self.found.cluster, operation)
            return ()
        # What runs in the cluster does not end by itself.
        self.base.standin.teams |= {one["metadata"]["namespace"] for one in self.state[PODS]}
        bringing = Bringing(self.base.twin.plane, self.state, self.base.standin.round)
        units = bringing.bring()
        self._told(self.state)
        self.assumed += bringing.notes
        self.assumed += preparing.bring(self.base.twin.plane, self.state, operation)
        return units

    def _told(self, state: State) -> None:
        """Bring what the cluster tells of Ceph and of its backups."""
        for one in state[RUNS]:
            self.twin.create(RUNS, {**one, "metadata": _plain(one)})
        for one in state[CEPH]:
            told = dig(one, "status", "ceph") or {}
            assuming.stands(self.twin, {key: told[key] for key in ("health", "details", "capacity") if key in told})

    def _run(self, course: Course, timeline: Timeline, given: Mapping[str, str], last: str) -> list[Step]:
        """Run the steps while machines answer and the twin is watched. Raises UsageError."""
        over, wrong = Flag(), list[UsageError]()
        threads = [
            Thread(target=_again, args=(one, over, wrong), daemon=True) for one in (self.machines.round, timeline.round)
        ]
        for one in threads:
            one.start()
        try:
            steps = []
            for step in course.steps(given, last):
                steps.append(step)
                if step.name == "preflight" and not step.code:
                    self._expect(given.get("node", ""), course.name)
            sleep(1.0)  # what happened last is on its way
        finally:
            over.set()
            for one in threads:
                one.join()
        if wrong:
            raise wrong[0]
        return steps

    def _expect(self, name: str, operation: str) -> None:
        """Let the machine of a new node join, from its preflight on, where it has not."""
        if operation == EXPANSION and not self.twin.get(f"{NODES}/{name}"):
            self.assumed.append(OF_JOINING.format(name))
            self.machines.joins = Joining(self.twin, self.found, name)


def leaving(template: Manifest) -> Leaving:
    """Return what an operation lets leave its nodes, by what its steps are told."""
    told = [env for one in template["spec"]["templates"] for env in sequence(dig(one, "container", "env"))]
    only = next((str(one["value"]) for one in told if one["name"] == "DRAIN_ONLY"), "")
    return Leaving(only=only, sick=template["metadata"]["name"] == DRAIN)


OF_JOINING = "the machine of {} answers, joins as its kubeadm file says, and has all that the cluster file says of it"
OF_STORAGE = (
    "Ceph and MinIO: all of them runs, and has moved at once what was there; whether Ceph has hosts, racks and room "
    "without an OSD is judged by the cluster file"
)
ALWAYS = (
    "machines: each did at once what it was asked; how long that takes is not played",
    "old APIs that somebody asks for: only the cluster's own API server knows",
    "pods: KWOK says of each that it runs, and ends it at once; pods of DaemonSets stay, and are not counted",
)
SHORTENED = "waits are shortened: what is not gone after {} s of the twin stays, however long the operation would wait"


def _again(act: Callable[[], None], over: Flag, wrong: list[UsageError]) -> None:
    while not over.wait(0.3):
        try:
            act()
        except UsageError as error:
            wrong.append(error)
            return


def _plain(one: Manifest) -> Manifest:
    return {key: one["metadata"][key] for key in ("name", "namespace", "labels") if key in one["metadata"]}
