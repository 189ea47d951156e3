"""Where the files of a cluster stood before it was renamed, or copied from another."""

from generator.model.cluster import cluster_file
from generator.repository.history import History
from generator.repository.vendored import Read


class Renames:
    """Follows files over the renaming of their cluster; `standing` reads the working tree."""

    def __init__(self, history: History, standing: Read) -> None:
        self._history = history
        self._standing = standing
        self._names: dict[tuple[str, str | None, str], str] = {}

    def before(self, path: str, later: str | None, commit: str) -> str:
        """Return where the file that is at `path` in `later`, None for the working tree, stood at `commit`."""
        top, _, below = path.partition("/")
        name, _, rest = below.partition("/")
        if top not in {"clusters", "overlays"}:
            return path
        key = (name, later, commit)
        if key not in self._names:
            self._names[key] = self._former(name, later, commit)
        return f"{top}/{self._names[key]}/{rest}"

    def _former(self, name: str, later: str | None, commit: str) -> str:
        """Return the name of the cluster at `commit` whose file has most lines in common with that of `name`."""
        file = cluster_file(name)
        content = self._standing(file) if later is None else self._history.read(later, file)
        if content is None or self._history.read(commit, file) is not None:
            return name
        lines = {*content.splitlines()}
        names = dict.fromkeys(path.split("/")[1] for path in self._history.files(commit, "clusters"))
        return max(names, key=lambda other: len(lines & self._lines(commit, other)), default=name)

    def _lines(self, commit: str, cluster: str) -> set[bytes]:
        return {*(self._history.read(commit, cluster_file(cluster)) or b"").splitlines()}
