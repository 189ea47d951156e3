"""The section `gpuCare` of the cluster file."""

from typing import Annotated

from msgspec import Meta

from generator.model.base import Section


class GpuCare(Section, frozen=True, kw_only=True):
    """Nodes with a sick GPU are found by the operation `gpu-care`, and get a taint that keeps new pods away. At most
    `percent_per_day` of a pool's GPU nodes get one within 24 hours, one node at least: what looks sick beyond that is
    only reported, for then a driver is the likelier cause. With `drain` the pods that hold GPUs leave such a node.
    """

    drain: bool = False
    percent_per_day: Annotated[int, Meta(ge=1, le=100)] = 10
