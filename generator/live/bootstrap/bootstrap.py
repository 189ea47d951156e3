"""From a cluster of bare nodes to one that Argo CD syncs: the steps of the bootstrap folder, compared and performed."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from msgspec import Struct

from generator.build.objects import Object
from generator.components import compose
from generator.components.component import NAMESPACES, Manifest, Secret
from generator.errors import UsageError
from generator.live.away import answered
from generator.live.bootstrap.argo_cd import await_server
from generator.live.bootstrap.definitions import definitions, definitions_step
from generator.live.bootstrap.identity_step import identity
from generator.live.bootstrap.nodes import PATH as NODES
from generator.live.bootstrap.nodes import node_marks
from generator.live.bootstrap.objects import objects_step
from generator.live.bootstrap.overlays import ARGO_CD, Overlays, overlays
from generator.live.bootstrap.secrets_step import Keeping, secrets_step
from generator.live.bootstrap.step import Item, State, Step
from generator.live.bootstrap.store_step import store_step
from generator.live.bootstrap.waves import refresh_all, watch
from generator.live.lease import BOOTSTRAP, held
from generator.live.running import RunningCluster
from generator.model.cluster import Cluster

Tell = Callable[[str, str], None]
"""Takes the name of a step and what it says."""


class Bootstrap(Struct, frozen=True, kw_only=True):
    """What a bootstrap works with. `definitions` builds those that come before Argo CD starts; `tell` is given a line
    whenever something was done.
    """

    running: RunningCluster
    cluster: Cluster
    overlays: Overlays
    definitions: Callable[[], Sequence[Object]]
    secrets: tuple[Secret, ...]
    keeping: Keeping
    tell: Tell

    def plan(self) -> list[Step]:
        """Look how each step stands; nothing is changed. Raises UsageError where the cluster is another one, and
        where it does not let one look.
        """
        return [look() for look in self._looks()]

    def perform(self) -> None:
        """Perform the steps, each as soon as the ones before are done. Nothing is done where something waits for a
        person first. Raises UsageError for that, where another one is at work, and for what is refused: run again, it
        goes on with what is left.
        """
        with held(self.running, BOOTSTRAP, lambda text: self.tell("lease", text)) as lease:
            blocked = [f"{step.name}: {why}" for step in self.plan() for why in step.blocked]
            if blocked:
                raise UsageError("nothing was done, as these wait for you:\n  " + "\n  ".join(blocked))
            for look in self._looks():
                step = look()
                for done in step.act() if step.pending else ():
                    self.tell(step.name, done)
                    lease.confirm()
                self.tell(step.name, "done" if step.pending else step.standing)

    def watch(self, patience: float) -> None:
        """Watch the waves to their end, for so many seconds. Changes nothing but that Argo CD looks at Git now."""
        tell = partial(self.tell, "waves")
        answered(self.running, partial(refresh_all, self.running), tell)
        watch(self.running, self.overlays.applications, tell, patience)

    def _looks(self) -> Iterator[Callable[[], Step]]:
        yield lambda: identity(self.running, self.cluster, self._nodes())
        yield lambda: node_marks(self.running, self.cluster, self._nodes())
        for name in (NAMESPACES, self.cluster.networks.cni):
            yield partial(self._objects, name)
        yield lambda: secrets_step(self.running, self.cluster, self.secrets, self.keeping)
        if store := self.cluster.site.secrets:
            yield lambda: store_step(self.running, self.cluster, store)
        yield self._definitions
        yield partial(self._objects, ARGO_CD)
        yield self._root

    def _nodes(self) -> list[Manifest]:
        return list(self.running.items(NODES))

    def _objects(self, name: str) -> Step:
        wanted = self.overlays.objects[name]
        if not wanted:
            return Step(name=name, items=(Item(State.DONE, "not gen's: somebody else installs it"),))
        return objects_step(self.running, name, wanted)

    def _definitions(self) -> Step:
        ours = self.overlays.objects[ARGO_CD]  # another one's Argo CD runs already
        return definitions_step(self.running, self.definitions if ours else list)

    def _root(self) -> Step:
        step = objects_step(self.running, "root", self.overlays.root)

        def act() -> Iterator[str]:
            await_server(self.running, lambda text: self.tell("root", text))
            yield from step.act()

        return Step(name=step.name, items=step.items, act=act)


def bootstrap(running: RunningCluster, root: Path, cluster: Cluster, keeping: Keeping, tell: Tell) -> Bootstrap:
    """Return the bootstrap of a cluster, with what it applies built. Raises UsageError where that cannot be built."""
    secrets = tuple(secret for component in compose(cluster) for secret in component.secrets)
    found = overlays(root, cluster)
    return Bootstrap(
        running=running,
        cluster=cluster,
        overlays=found,
        definitions=cache(lambda: definitions(root, cluster, [*found.objects])),
        secrets=secrets,
        keeping=keeping,
        tell=tell,
    )
