"""What is run: hooks of a sync, and scripts in ConfigMaps and in the files for nodes. Its effect is mostly `none` or a
step by hand, and what it does stands nowhere but in its lines.
"""

from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

from generator.build.difference import field_changes
from generator.kinds.syncing import HELM_HOOK, HOOK
from generator.model.change import ABSENT, ANY, FILE, Beside, FieldChange, ObjectChange
from generator.model.fields import dig, mapping, sequence, walk
from generator.model.opening import OpeningRule, Opens, texts

HOOKS = "https://argo-cd.readthedocs.io/en/stable/user-guide/resource_hooks/"
_ENDINGS = (".sh", ".bash", ".py", ".lua", ".pl", ".rb", ".js")
_RUN = {"command", "args", "image", "env", "envFrom", "script", "source", "serviceAccountName"}


def _is_script(name: object, text: object) -> bool:
    return isinstance(text, str) and (str(name).endswith(_ENDINGS) or text.startswith("#!"))


def _lines(name: str, old: str, new: str) -> Iterator[str]:
    """Yield the lines of a script that came and went."""
    changed = unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    yield from (f"{name}: {line}" for line in list(changed)[2:] if not line.startswith("@@"))


def _scripts(change: ObjectChange) -> Iterator[str]:
    old, new = (mapping(dig(side, "data")) for side in (change.old, change.new))
    for name, text in new.items() if change.old else ():
        before = old.get(name)
        if text != before and (_is_script(name, text) or _is_script(name, before)):
            yield from _lines(name, str(before or ""), str(text))


def _of_nodes(change: ObjectChange) -> Iterator[str]:
    for field in change.fields if change.new else ():
        if str(field.path[-1]).endswith(_ENDINGS):
            yield from (f"- {field.old}" for _ in range(field.old is not ABSENT))
            yield from (f"+ {field.new}" for _ in range(field.new is not ABSENT))


def _hook(manifest: Any) -> str:
    noted = texts(dig(manifest, "metadata", "annotations"))
    return noted.get(HOOK) or noted.get(HELM_HOOK) or ""


def _hooked(change: ObjectChange) -> Iterator[str]:
    """Yield what a hook runs that it did not."""
    when = _hook(change.new)
    if not when or when == "Skip":
        return
    if not change.old or not _hook(change.old):
        yield from (f"{when}: runs {text}" for text in _programs(change.new))
        return
    for field in field_changes(change.old.get("spec"), change.new.get("spec")):
        if _RUN & {str(step) for step in field.path} or _holds_more(field):
            yield f"{when}: {'.'.join(map(str, field.path))}: {_said(field.old)} -> {_said(field.new)}"


def _holds_more(field: FieldChange) -> bool:
    return any(str(step) in {"containers", "initContainers", "volumes"} for step in field.path[-2:])


def _programs(manifest: Any) -> Iterator[str]:
    for _, part in walk(manifest):
        if isinstance(part, dict) and isinstance(part.get("image"), str):
            words = [part["image"], *map(str, (*sequence(part.get("command")), *sequence(part.get("args"))))]
            yield " ".join(words)


def _said(value: Any) -> str:
    return "nothing" if value is ABSENT else str(value)


def runs(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield what is run that was not, line by line, field by field."""
    if change.kind == FILE:
        yield from _of_nodes(change)
    elif change.kind == "/ConfigMap":
        yield from _scripts(change)
    else:
        yield from _hooked(change)


SCRIPTS = (
    OpeningRule(
        code="GEN-CHG-798",
        kinds=(ANY,),
        opens=Opens.CODE,
        gains=runs,
        reason="it is run, with the rights of whoever runs it: on a node as root, in a hook with the hook's account",
        link=HOOKS,
    ),
)
