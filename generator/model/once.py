"""What is asked of a cluster many times in a render, computed once for each."""

from functools import wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from generator.model.cluster import Cluster

Answer = TypeVar("Answer")


def once(function: "Callable[[Cluster], Answer]") -> "Callable[[Cluster], Answer]":
    """Keep what a function answers with the cluster that it is asked of, as its cached properties are, and go with it.
    All who ask share the answer: make a copy of what you change.
    """
    key = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def known(cluster: "Cluster") -> Answer:
        if key not in cluster.__dict__:
            cluster.__dict__[key] = function(cluster)
        answer: Answer = cluster.__dict__[key]
        return answer

    return known
