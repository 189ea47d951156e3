"""Hand edits in vendored files, which only inflating the inputs that stand beside them can tell."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from generator.components.component import HELM
from generator.layout.lock import LOCK, LockFile, written_by
from generator.layout.upstream import FOUND, INPUTS, KUSTOMIZATION, Inputs, folder
from generator.model.finding import Finding
from generator.repository.folders import within
from generator.repository.lines import with_line_feeds
from generator.repository.own_code import this_gen
from generator.repository.record import Record
from generator.repository.vendored import intact, vendored
from generator.repository.vendored import on_disk as on_file
from generator.spec.reader import read
from generator.upstream.charts import FetchOptions
from generator.upstream.component_files import FileLayout, all_component_objects
from generator.upstream.component_objects import ComponentObjects
from generator.upstream.findings import Place
from generator.upstream.gather import gather
from generator.upstream.tasks import ClusterSite, Task
from generator.upstream.vendored_files import definition_files, object_files, on_disk, paths

_BESIDE = (f"/{INPUTS}", f"/{FOUND}", f"/{KUSTOMIZATION}")
# Git leaves these; gen indents whatever looks like them.
_MARKER = re.compile(rb"^(?:<{7}|>{7}) ", re.MULTILINE)


class Edited(Struct, frozen=True):
    """Files that a person changed, by cluster and component, and what could not be told."""

    findings: tuple[tuple[Place, Finding], ...] = ()
    notes: tuple[str, ...] = ()


class Comparison(Struct, frozen=True, kw_only=True):
    """What is compared with what stands: `laid` is about to replace it; `discard` may be lost."""

    root: Path
    sites: Sequence[ClusterSite]
    laid: FileLayout
    lock: LockFile
    how: FetchOptions
    discard: Collection[str]


def edited(comparison: Comparison, tasks: Sequence[Task]) -> Edited:
    """Find hand edits in what is about to be replaced. What gen is known to have written needs no second look."""
    record = Record.load(comparison.root)
    doubtful = [task for task in tasks if _doubtful(comparison, task, record)]
    same = _same_gen(comparison.root)
    old = [(task, _as_it_stands(comparison.root, task) if same else None) for task in doubtful]
    known = [one for _, one in old if one]
    # What stands was made of what is locked, whatever is to come.
    made, _ = gather(known, comparison.lock, structs.replace(comparison.how, again=frozenset()), lambda _: None)
    ready = all_component_objects(comparison.root, comparison.sites, made)
    untold = [task.place for task, one in old if one is None]
    findings: list[tuple[Place, Finding]] = []
    for one in ready:
        if any(part.findings for _, part in one.made.parts):
            untold.append(one.task.place)
        else:
            findings += [(one.task.place, edit) for edit in _edits(comparison, one.task, one.objects, record)]
    return Edited(tuple(findings), tuple(map(_untold, untold)))


def _same_gen(root: Path) -> bool:
    """Tell whether this gen wrote what stands: another may have split the same charts in another way."""
    return written_by(on_file(root)(LOCK) or b"") == this_gen()


def _doubtful(comparison: Comparison, task: Task, record: Record) -> bool:
    """Tell whether a file that will change is neither as gen left it on this machine, nor as its folder's seal says."""
    changed = any(
        comparison.laid.files.get(path) != content and not record.knows(path, content)
        for path, content in paths(on_disk(comparison.root, *task.place)).items()
        if not path.endswith(_BESIDE)
    )
    known = vendored(on_file(comparison.root), task.place[0], [task.place[1]]).get(task.place[1])
    return changed and (known is None or not intact(comparison.root, *task.place, known.found))


def _as_it_stands(root: Path, task: Task) -> Task | None:
    """Return the task with the inputs beside its files; None where they cannot be inflated by this gen."""
    try:
        document = read((root / folder(*task.place) / INPUTS).read_bytes(), INPUTS)
        inputs = msgspec.convert(document.value, Inputs)
    except (OSError, msgspec.ValidationError):
        return None
    if inputs.helm != HELM:
        return None
    component = structs.replace(task.component, base=(), objects=(), patches=())
    return structs.replace(task, inputs=inputs, component=component)


def _edits(comparison: Comparison, task: Task, objects: ComponentObjects, record: Record) -> Iterator[Finding]:
    standing = on_disk(comparison.root, *task.place)
    made = structs.replace(
        standing,
        files=object_files(*task.place, objects.items),
        definitions=definition_files(task.component.name, objects.definitions),
    )
    should = paths(made)
    for path, content in paths(standing).items():
        ours = path.endswith(_BESIDE) or record.knows(path, content) or _MARKER.search(content)
        if not ours and _body(should.get(path)) != _body(content) and not within(path, comparison.discard):
            yield _finding(path, _body(content) or b"", _body(should.get(path)))


def _body(content: bytes | None) -> bytes | None:
    """Return a file less its first line, which tells of versions and is nobody's work, and less what Git does to the
    ends of lines.
    """
    return None if content is None else with_line_feeds(content).partition(b"\n")[2]


def _finding(path: str, ours: bytes, theirs: bytes | None) -> Finding:
    pairs = zip_longest(ours.split(b"\n"), (theirs or b"").split(b"\n"), fillvalue=b"")
    line, by_hand, made = next((at, *pair) for at, pair in enumerate(pairs, 2) if pair[0] != pair[1] or theirs is None)
    what = f"{path}:{line}: was changed by hand, and gen would overwrite it"
    shown = f"by hand {_shown(by_hand)}, from upstream {_shown(made) if theirs is not None else 'nothing'}"
    custom = path.partition("/upstream/")[0] + "/custom/" if "/upstream/" in path else "custom/ of the overlays"
    fix = f"keep it by a patch in {custom}, or drop it: --discard {path}"
    return Finding(file=path, message=f"{what}: {shown}", fix=fix)


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"


def _untold(place: Place) -> str:
    return f"{'/'.join(place)}: whether its vendored files were changed by hand cannot be told any more"
