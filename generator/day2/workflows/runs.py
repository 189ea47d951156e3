"""What runs or ran: a Workflow with its steps, as its status tells."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from generator.components.component import Manifest
from generator.live.messages import shortened
from generator.model.fields import dig, mapping, sequence

ENDED = ("Succeeded", "Failed", "Error")
GROUPING = ("StepGroup", "TaskGroup")
"""Nodes that only hold others: what is in them is told."""


class Step(Struct, frozen=True, kw_only=True):
    """A step: `phase` as Argo says it (`Pending`, `Running`, `Succeeded`, `Skipped`, `Failed`, `Error`, `Omitted`),
    times as RFC 3339 (empty where there is none yet), and what lies in it. `pod` tells whether one runs it.
    """

    id: str
    name: str
    phase: str
    message: str
    started: str
    finished: str
    pod: bool
    steps: "tuple[Step, ...]" = ()


class Run(Struct, frozen=True, kw_only=True):
    """A Workflow; `progress` is how many of its pods are done, of those that are known (`2/4`)."""

    name: str
    namespace: str
    template: str
    phase: str
    message: str
    progress: str
    created: str
    started: str
    finished: str
    parameters: Mapping[str, str]
    labels: Mapping[str, str]
    stopping: bool
    steps: tuple[Step, ...]

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.phase in ENDED

    def data(self) -> dict[str, Any]:
        """Return it for a program to read."""
        from msgspec import to_builtins  # noqa: PLC0415 - only where JSON is asked for

        return dict(to_builtins(self))


def run(workflow: Manifest) -> Run:
    """Return what a Workflow tells of itself."""
    metadata, spec = workflow["metadata"], mapping(workflow.get("spec"))
    status = mapping(workflow.get("status"))
    parameters = sequence(dig(spec, "arguments", "parameters"))
    return Run(
        name=metadata["name"],
        namespace=str(metadata.get("namespace")),
        template=str(dig(spec, "workflowTemplateRef", "name") or ""),
        phase=str(status.get("phase") or "Pending"),
        message=shortened(str(status.get("message") or "")),
        progress=str(status.get("progress") or ""),
        created=str(metadata.get("creationTimestamp") or ""),
        started=str(status.get("startedAt") or ""),
        finished=str(status.get("finishedAt") or ""),
        parameters={str(dig(one, "name")): str(dig(one, "value")) for one in parameters},
        labels={str(key): str(value) for key, value in mapping(metadata.get("labels")).items()},
        stopping=bool(spec.get("shutdown")),
        steps=_steps(mapping(status.get("nodes")), metadata["name"]),
    )


def _steps(nodes: Mapping[str, Any], root: str) -> tuple[Step, ...]:
    """Return the steps of a Workflow: its first node carries its name, and is told where it is all there is."""
    within: dict[str, list[str]] = {}
    for key, node in nodes.items():
        within.setdefault(str(dig(node, "boundaryID") or ""), []).append(key)
    tries = {str(child) for node in nodes.values() if dig(node, "type") == "Retry" for child in _children(node)}

    def below(key: str, seen: frozenset[str]) -> Iterator[Step]:
        inside = [one for one in within.get(key, ()) if one not in tries and one not in seen]
        if dig(nodes.get(key), "type") == "Retry":
            inside = [one for one in _children(nodes.get(key)) if one in nodes and one not in seen]
        for one in sorted(inside, key=lambda one: (str(dig(nodes[one], "startedAt") or "~"), one)):
            if dig(nodes[one], "type") not in GROUPING:
                yield _step(one, nodes[one], tuple(below(one, seen | {one})))

    first = tuple(below(root, frozenset({root})))
    others = tuple(step for step in below("", frozenset({root})) if step.id != root)
    alone = (_step(root, nodes[root], ()),) if root in nodes and dig(nodes[root], "type") == "Pod" else ()
    return (*(first or alone), *others)


def _children(node: object) -> Sequence[str]:
    return [str(one) for one in sequence(dig(node, "children"))]


def _step(key: str, node: object, steps: tuple[Step, ...]) -> Step:
    return Step(
        id=key,
        name=str(dig(node, "displayName") or dig(node, "name") or key),
        phase=str(dig(node, "phase") or "Pending"),
        message=shortened(str(dig(node, "message") or "")),
        started=str(dig(node, "startedAt") or ""),
        finished=str(dig(node, "finishedAt") or ""),
        pod=dig(node, "type") == "Pod",
        steps=steps,
    )
