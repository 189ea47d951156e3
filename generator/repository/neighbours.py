"""The other clusters of a repository, read lightly: which of them may have something in common with a few."""

import re
from collections.abc import Callable, Iterable, Iterator

from generator.checks.site import hosts
from generator.model.cluster import Cluster
from generator.model.text import AddressRange

_RANGE = re.compile(rb"range: *[\"']?([0-9][0-9./-]*)")


def neighbours(clusters: Iterable[Cluster], others: Iterable[str], content: Callable[[str], bytes]) -> list[str]:
    """Return those of the `others` whose files speak of anything that must not belong to two clusters, and that one of
    `clusters` has: as a text, wherever it stands. One too many costs only the time to read it whole.
    """
    clusters = [*clusters]
    words = _by_beginning({word.encode() for cluster in clusters for word in _own(cluster)})
    ranges = [balancer.range for cluster in clusters if (balancer := cluster.networks.load_balancer)]
    urls = {cluster.repository.url.encode() for cluster in clusters}
    found = []
    for name in others:
        text = content(name)
        if _speaks(text, words) or not all(url in text for url in urls) or any(_meets(text, one) for one in ranges):
            found.append(name)
    return found


def _own(cluster: Cluster) -> Iterator[str]:
    """Yield what only one cluster may have, as its file writes it."""
    yield cluster.kubernetes.endpoint.host
    yield from (host for _, host in hosts(cluster))
    yield from (host for team in cluster.teams for host in team.hosts)
    for node in cluster.nodes:
        yield str(node.address)
        if node.mac:
            yield node.mac


def _by_beginning(words: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """Return words by how several of them begin: a file without that holds none of them."""
    found: dict[bytes, list[bytes]] = {}
    for word in words:
        found.setdefault(word[: max(word.rfind(b"."), word.rfind(b":"), len(word) // 2) + 1], []).append(word)
    return found


def _speaks(text: bytes, words: dict[bytes, list[bytes]]) -> bool:
    return any(word in text for beginning, several in words.items() if beginning in text for word in several)


def _meets(text: bytes, own: AddressRange) -> bool:
    """Tell whether a file may give out addresses of a range; also where it writes its own in a form not known here."""
    ranges = [found[1] for found in _RANGE.finditer(text)]
    return b"loadBalancer" in text and not (ranges and all(_apart(one, own) for one in ranges))


def _apart(text: bytes, own: AddressRange) -> bool:
    try:
        return not AddressRange.parse(text.decode()).meets(own)
    except ValueError:
        return False
