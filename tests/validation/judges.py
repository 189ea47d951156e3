"""All judges, in the order in which their verdicts are worth reading."""

from collections.abc import Callable
from typing import TypeAlias

from validation.build import Built
from validation.ownership import misplaced, secrets, shared_objects, unpinned_images, unresolved_namespaces
from validation.placement import daemons_kept_out, homeless, node_less, ungated_gpus
from validation.projects import forbidden
from validation.references import dangling, late
from validation.schemas import refused
from validation.selectors import selecting_nothing, unbacked_ports
from validation.values import no_file, schema_problems, unknown
from validation.waits import addressless

__all__ = ["JUDGES", "Judge"]

Judge: TypeAlias = Callable[[Built], list[str]]

JUDGES: tuple[Judge, ...] = (
    refused,
    unknown,
    schema_problems,
    no_file,
    dangling,
    late,
    addressless,
    shared_objects,
    misplaced,
    unresolved_namespaces,
    forbidden,
    selecting_nothing,
    unbacked_ports,
    node_less,
    homeless,
    daemons_kept_out,
    ungated_gpus,
    unpinned_images,
    secrets,
)
