"""From the parser's events to values and their places, with a stack of its own instead of recursion."""

from typing import Any

from msgspec import Struct

from generator.model.finding import Finding
from generator.model.rule import Explained
from generator.spec.document import MERGE, Lines, Span, YamlNode
from generator.spec.limit import MOST
from generator.spec.pyyaml import yaml
from generator.spec.scalars import in_range, resolve
from generator.spec.syntax_codes import DIRECTIVE, NUMBER
from generator.spec.text_codes import (
    ANCHOR,
    CHARACTER,
    EMPTY,
    KEY_NO_TEXT,
    KEY_TWICE,
    MERGE_KEY,
    NO_MAPPING,
    SECOND_DOCUMENT,
    TAG,
    TOO_DEEP,
)

DEPTH = 64
"""Collections that may stand inside one another, the file's own mapping included."""

_STARTS: dict[type, type] = {yaml.MappingStartEvent: dict, yaml.SequenceStartEvent: list}
_ENDS = frozenset({yaml.MappingEndEvent, yaml.SequenceEndEvent})


class _Frame(Struct, gc=False):
    """A collection whose end has not come yet.

    `drop` is true while the value of a refused key is read, `stray` where the collection stands as a key.
    """

    value: Any
    node: YamlNode
    key: str | None = None
    span: Span = (0, 0)
    drop: bool = False
    stray: bool = False


class Builder:
    """Reads one text. `value` and `root` stay None unless the text is one mapping read to its end; `stopped` is the
    finding of the syntax error at which reading ended.
    """

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.value: Any = None
        self.root: YamlNode | None = None
        self.findings: list[Finding] = []
        self.stopped: Finding | None = None
        self._stack: list[_Frame] = []
        self._quoted: Span | None = None
        self._documents = 0

    def build(self) -> None:
        """Read the whole text."""
        try:
            whole = self._events()
        except yaml.MarkedYAMLError as error:
            self.stopped = self._slip(error)
            self.findings.append(self.stopped)
            whole = False
        if whole and not isinstance(self.value, dict):
            self._no_mapping()
        if not (whole and isinstance(self.value, dict)):
            self.value = self.root = None

    def _events(self) -> bool:
        """Go through the events; false where reading had to stop, with a finding."""
        for event in yaml.parse(self.lines.text, Loader=yaml.CSafeLoader):
            kind = type(event)
            if len(self.findings) > MOST:
                return False
            if kind is yaml.ScalarEvent:
                self._scalar(event)
            elif kind in _STARTS:
                if not self._start(event, _STARTS[kind]()):
                    return False
            elif kind in _ENDS:
                self._end(event)
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.DocumentStartEvent and not self._document(event):
                break
        return True

    def _slip(self, error: yaml.MarkedYAMLError) -> Finding:
        from generator.spec.syntax import Slip, explain_slip  # noqa: PLC0415 - only for files that are wrong

        text = self.lines.text
        at = error.problem_mark.index if error.problem_mark else len(text)
        opened = [frame.node.start for frame in self._stack if frame.node.flow]
        slip = Slip(
            text=text,
            problem=error.problem or "",
            context=error.context or "",
            at=at if at < len(text) else len(text.rstrip()),
            since=error.context_mark.index if error.context_mark else None,
            opened=opened[-1] if opened else None,
            quoted=self._quoted,
        )
        return explain_slip(slip)

    def _report(self, code: Explained, message: str, fix: str, span: Span, also: Span | None = None) -> None:
        self.findings.append(self.lines.finding(code, message, fix, span, also))

    def _document(self, event: Any) -> bool:
        """Note the start of a document; false for a second one."""
        self._documents += 1
        start = event.start_mark.index
        if event.version or event.tags:
            self._report(DIRECTIVE, "a line that begins with % is a directive", "remove the line", (start, start + 1))
        if self._documents > 1:
            what = "a second document begins here, and a cluster file is one document"
            self._report(SECOND_DOCUMENT, what, "move it to a file of its own, or remove the `---`", (start, start + 3))
        return self._documents == 1

    def _no_mapping(self) -> None:
        span = (self.root.start, self.root.end) if self.root else (0, 0)
        if self.value is None and span[0] == span[1]:
            self._report(EMPTY, "the file is empty", "begin it with apiVersion, kind, metadata and spec", (0, 0))
        else:
            what = "a list" if isinstance(self.value, list) else "one single value"
            self._report(
                NO_MAPPING, f"the file is {what}, not keys with values", "begin it with `key: value` lines", span
            )

    def _scalar(self, event: Any) -> None:
        span = event.start_mark.index, event.end_mark.index
        value = event.value
        if event.anchor or event.tag:
            self._refuse_properties(event)
        if event.implicit[0]:
            value = resolve(value)
        elif event.style not in {"|", ">"}:
            self._quoted = span
        if self._awaits_key():
            self._key(event, value, span)
        elif type(value) is str or in_range(value):
            self._add(value, YamlNode(*span))
        else:
            what = f"{event.value[:40]} is not a number that every reader can hold"
            self._report(NUMBER, what, "write a smaller number, or quote it if it is text", span)
            self._add(event.value, YamlNode(*span))

    def _awaits_key(self) -> bool:
        return bool(self._stack) and self._stack[-1].key is None and type(self._stack[-1].value) is dict

    def _key(self, event: Any, value: Any, span: Span) -> None:
        frame = self._stack[-1]
        key = frame.key = event.value
        frame.span = span
        frame.drop = key in frame.value
        if key in frame.value:
            self._report(
                KEY_TWICE, f"the key {key} is given twice", "remove one of the two", span, frame.node.keys[key]
            )
        elif key == MERGE and event.implicit[0]:
            self._report(MERGE_KEY, "merge keys are not part of YAML 1.2", "write the keys out", span)
        elif not isinstance(value, str):
            fix = f'write "{key}"' if key else "write the key before the colon"
            self._report(KEY_NO_TEXT, f"the key {key} is not text" if key else "a value without a key", fix, span)
        elif not key.isascii():
            self._strange(key, span)

    def _strange(self, key: str, span: Span) -> None:
        from generator.spec.syntax import INVISIBLE  # noqa: PLC0415 - hardly ever

        if INVISIBLE.search(key):
            self._report(
                CHARACTER, "the key has a character that looks like a blank or like nothing", "type it again", span
            )

    def _refuse_properties(self, event: Any) -> None:
        start = event.start_mark.index
        span = (start, start + 1 + len(event.anchor or ""))
        if event.anchor:
            fix = f'remove &{event.anchor}, or quote the value if it is text: "&{event.anchor}"'
            self._report(ANCHOR, f"the anchor &{event.anchor} is not allowed", fix, span)
        if event.tag:
            what = "the tag ! is not allowed" if event.tag == "!" else f"a tag ({event.tag}) is not allowed"
            self._report(TAG, what, "remove the tag, or quote the value if it is text", span)

    def _alias(self, event: Any) -> None:
        span = event.start_mark.index, event.end_mark.index
        fix = f'write the value itself, or quote it if it is text: "*{event.anchor}"'
        self._report(ANCHOR, f"the alias *{event.anchor} is not allowed", fix, span)
        if self._awaits_key():
            self._stack[-1].key, self._stack[-1].drop = "", True
            return
        self._add(None, YamlNode(*span))

    def _start(self, event: Any, value: Any) -> bool:
        """Open a collection; false where it would be too deep."""
        start = event.start_mark.index
        span = (start, start + 1)
        if event.anchor or event.tag:
            self._refuse_properties(event)
        stray = self._awaits_key()
        if stray:
            fix = "write the key as text; if this is a template such as {{ x }}, quote the value"
            self._report(KEY_NO_TEXT, "a list or mapping stands where a key should", fix, span)
        if len(self._stack) >= DEPTH:
            self._report(TOO_DEEP, f"more than {DEPTH} levels inside one another", "write it flatter", span)
            return False
        node = YamlNode(start, start, bool(event.flow_style), type(value)(), {})
        self._stack.append(_Frame(value, node, stray=stray))
        return True

    def _end(self, event: Any) -> None:
        frame = self._stack.pop()
        frame.node.end = event.end_mark.index
        if frame.stray:
            self._stack[-1].key, self._stack[-1].drop = "", True
        else:
            self._add(frame.value, frame.node)

    def _add(self, value: Any, node: YamlNode) -> None:
        if not self._stack:
            self.value, self.root = value, node
            return
        frame = self._stack[-1]
        children: Any = frame.node.children
        if frame.key is None:
            frame.value.append(value)
            children.append(node)
            return
        if not frame.drop:
            frame.value[frame.key] = value
            children[frame.key] = node
            frame.node.keys[frame.key] = frame.span
        frame.key = None
