"""What a run of an operation is told."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from generator.errors import UsageError

if TYPE_CHECKING:
    from generator.model.cluster import Cluster

PARAMETERS = click.option(
    "-p", "--parameter", "parameters", metavar="NAME=VALUE", multiple=True,
    help="What the run is told; may be repeated. Default: what its template or schedule says.",
)  # fmt: skip


def given(words: Sequence[str]) -> Mapping[str, str]:
    """Return what somebody said of parameters. Raises UsageError."""
    pairs = [word.partition("=") for word in words]
    if wrong := [name for name, equals, _ in pairs if not equals or not name]:
        raise UsageError(f"-p {wrong[0]}: say NAME=VALUE")
    names = [name for name, _, _ in pairs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"-p {twice[0]} is said twice")
    return {name: value for name, _, value in pairs}


def refuse_unfit(root: Path, cluster: "Cluster", name: str, namespace: str | None, told: Mapping[str, str]) -> None:
    """Refuse what an operation as gen writes it cannot be told, before a server is asked. Of what is the user's own, or
    patched, the cluster alone knows. Raises UsageError.
    """
    from generator.build.offline import CUSTOM  # noqa: PLC0415 - heavy
    from generator.day2.workflows.operations import run_of, written  # noqa: PLC0415 - heavy
    from generator.repository.unused_custom import filled  # noqa: PLC0415 - heavy

    found = [(own, one) for own, one in written(cluster) if one.name == name and namespace in {None, one.namespace}]
    if any(filled(root / f"overlays/{cluster.name}/{own}/{CUSTOM}") for own, _ in found):
        return
    refused = []
    for _, one in found:
        try:
            run_of(one, told)
        except UsageError as error:
            refused.append(error)
    # Of several of one name it may be any.
    if refused and len(refused) == len(found):
        raise refused[0]
