"""Which requests are sent a second time."""

from typing import Any, Self

from urllib3 import Retry
from urllib3.exceptions import TimeoutError as LateError


class Repeating(Retry):
    """A request goes out once more where its connection was dropped, as one that was idle for long: not after a time
    that ran out, which would make twice what is told of it, and not to be redirected.
    """

    @classmethod
    def once(cls) -> Self:
        """Return how often: whoever is busy may not say how long we wait for it."""
        return cls(total=1, redirect=False, respect_retry_after_header=False)

    def increment(self, *asked: Any, **why: Any) -> Self:
        """Count a failure, or raise it where it is to stay."""
        if isinstance(error := why.get("error"), LateError):
            raise error
        return super().increment(*asked, **why)
