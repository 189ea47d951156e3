"""The same work on each of many clusters, in several processes where that is faster."""

import atexit
import gc
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from generator.errors import UsageError

if TYPE_CHECKING:
    from concurrent.futures import Executor

# Below this many clusters starting processes costs more than it saves (facts: python, many clusters).
MANY = 20

Job = TypeVar("Job")
Result = TypeVar("Result")


def spread(work: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """Return the results in the order of the jobs. What `work` raises, this raises; it must be a function of a module,
    its arguments and results such as can be pickled. Raises UsageError where a process was killed.
    """
    if len(jobs) < MANY:
        return [work(job) for job in jobs]
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - as in `_pool`
    from multiprocessing import active_children  # noqa: PLC0415 - as above

    size = max(1, len(jobs) // 16)
    try:
        parts = [_pool().submit(_each, work, jobs[at : at + size]) for at in range(0, len(jobs), size)]
        return [result for part in parts for result in part.result()]
    except BaseException as error:
        # Nobody waits for what they have begun: whoever stops gen, or is told what is wrong.
        _pool.cache_clear()
        for one in active_children():
            one.terminate()
        if isinstance(error, BrokenProcessPool):
            raise UsageError(
                "a process that worked on some of the clusters was killed, perhaps as memory ran out; "
                "work on fewer at once: --shard 1/4, or --cluster NAME"
            ) from None
        raise


def _each(work: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    return [work(job) for job in jobs]


@cache
def _pool() -> "Executor":
    """Return the processes, which stay for all the work of a run."""
    # Importing these costs 10 ms, which few clusters need not spend.
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415
    from multiprocessing import get_context  # noqa: PLC0415

    pool = ProcessPoolExecutor(mp_context=get_context("forkserver"), initializer=gc.disable)
    atexit.register(pool.shutdown)
    return pool
