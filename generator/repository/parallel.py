"""The same work on each of many clusters, in several processes where that is faster."""

import atexit
import gc
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Executor

# Below this many clusters starting processes costs more than it saves (facts: python, many clusters).
MANY = 20

Job = TypeVar("Job")
Result = TypeVar("Result")


def spread(work: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """Return the results in the order of the jobs. What `work` raises, this raises; it must be a function of a module,
    its arguments and results such as can be pickled.
    """
    if len(jobs) < MANY:
        return [work(job) for job in jobs]
    return list(_pool().map(work, jobs, chunksize=max(1, len(jobs) // 16)))


@cache
def _pool() -> "Executor":
    """Return the processes, which stay for all the work of a run."""
    # Importing these costs 10 ms, which few clusters need not spend.
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415
    from multiprocessing import get_context  # noqa: PLC0415

    pool = ProcessPoolExecutor(mp_context=get_context("forkserver"), initializer=gc.disable)
    atexit.register(pool.shutdown)
    return pool
