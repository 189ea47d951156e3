"""`gen workflow simulate`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from generator.cli.live_options import Where, at_cluster, refuse_beside
from generator.cli.options import TOLD
from generator.cli.parameters import PARAMETERS, given, refuse_unfit
from generator.cli.terminal import say, say_all, say_json
from generator.errors import UsageError
from generator.model.cluster import cluster_file

if TYPE_CHECKING:
    from generator.model.cluster import Cluster
    from generator.rehearsal.simulation.reading import State
    from generator.rehearsal.simulation.simulation import Simulation

FOUND = 1
FILE = click.Path(dir_okay=False, path_type=Path)
STATE = click.option("--state", type=FILE, metavar="FILE", help="Take what --save has read. Default: read it now.")
SAVE = click.option("--save", type=FILE, metavar="FILE", help="Only read what runs, into this file. Default: go on.")

SAMPLES = click.option(
    "--samples",
    is_flag=True,
    help="Ask no cluster: jobs of the teams' shapes fill the queues. Default: what runs in the cluster.",
)


@click.command("simulate", short_help="Play an operation on a twin of the cluster first.")
@click.argument("name", metavar="OPERATION")
@PARAMETERS
@SAMPLES
@STATE
@SAVE
@TOLD
@at_cluster
def command(  # noqa: PLR0913 - the options of the verb
    *,
    where: Where,
    name: str,
    parameters: tuple[str, ...],
    output: str,
    samples: bool,
    state: Path | None,
    save: Path | None,
) -> int:
    """Play OPERATION, one on nodes, on a twin of the cluster: a real control plane with simulated nodes, Kueue and
    Volcano, on loopback. What runs in the cluster is read and brought there, each pod on its node; then the operation's
    own steps run there. Told is which node is emptied when, which gangs are stopped, what a budget holds up, what
    refuses it. In the cluster nothing is changed.

    The operation is that of the working tree, as `gen render` would leave it. Needs what `gen rehearse` needs. Exit
    code 1 when something stands against the operation.
    """
    said = {"--kubeconfig": where.kubeconfig, "--context": where.context, "--state": state, "--save": save}
    _refuse(name, said, samples=samples)
    cluster = where.described()
    _refuse_absent(cluster, name)
    told = given(parameters)
    if not save:
        refuse_unfit(where.root, cluster, name, None, told)
    read = None if samples else _state(cluster, where, state)
    if save and read:
        _save(read, save)
        return 0
    found = _played(where.root, cluster.name, read, name, told)
    _show(found, output)
    return FOUND if found.loud else 0


def _refuse(name: str, said: Mapping[str, object], *, samples: bool) -> None:
    """Refuse what cannot be played, and options that make no sense together, before anything is asked."""
    from generator.rehearsal.simulation.played import refuse_others  # noqa: PLC0415 - heavy

    asked = {option: bool(value) for option, value in said.items()}
    if samples:
        refuse_beside("--samples", asked, "no cluster is asked")
    if asked.pop("--state"):
        refuse_beside("--state", asked, "no cluster is asked")
    refuse_others(name)


def _refuse_absent(cluster: "Cluster", name: str) -> None:
    """Refuse an operation that the cluster has not, before anything is read or built."""
    from generator.day2.workflows.operations import templates  # noqa: PLC0415 - heavy

    if name not in {one["metadata"]["name"] for one in templates(cluster)}:
        raise UsageError(f"{cluster.name} has no operation {name}: `gen workflow list` tells which it has")


def _save(read: "State", file: Path) -> None:
    from generator.rehearsal.simulation import reading  # noqa: PLC0415 - heavy

    reading.save(read, file)
    say(f"{file} has what runs at {read.host}; next: the same with --state {file}")


def _show(found: "Simulation", output: str) -> None:
    if output == "json":
        say_json(found.data())
        return
    from generator.rehearsal.simulation.text import lines  # noqa: PLC0415 - only when it is asked for

    say_all(lines(found))


def _state(cluster: "Cluster", where: Where, saved: Path | None) -> "State":
    from generator.rehearsal.simulation.reading import load, read  # noqa: PLC0415 - heavy

    if saved:
        return load(saved, cluster.name)
    there = where.confirmed(cluster)
    say("reading what runs ...", err=True)
    return read(there, cluster.name)


def _played(root: Path, cluster: str, state: "State | None", name: str, told: Mapping[str, str]) -> "Simulation":
    from generator.day2.workflows.operations import values  # noqa: PLC0415 - heavy
    from generator.rehearsal.simulation.simulate import Wish, simulate  # noqa: PLC0415 - heavy
    from generator.review.sides import Wanted, both_sides  # noqa: PLC0415 - heavy

    wish = Wish(
        operation=name,
        told=lambda one: values(one, told),
        state=state,
        tell=lambda text: say(f"{text} ...", err=True),
    )
    wanted = Wanted(base="HEAD", clusters=(cluster,))
    with both_sides(root, wanted) as sides:
        if sides.wrong:
            raise UsageError(f"{cluster_file(cluster)}: it has errors; `gen check` tells them")
        return simulate(sides.new, cluster, wish)
