"""The steps of an operation, run one after the other as its WorkflowTemplate says, each as a process with the rights of
the operation's ServiceAccount.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path
from time import monotonic

from msgspec import Struct

from generator.components.component import Manifest
from generator.errors import CommandError, UsageError
from generator.model.fields import dig, sequence
from generator.process import run
from generator.rehearsal.twin.plane import Plane

SHORT = {
    "GANG_SECONDS": "0",
    "DRAIN_SECONDS": "15",
    "NODE_SECONDS": "60",
    "STORAGE_SECONDS": "30",
    "OSD_SECONDS": "30",
    "HEAL_SECONDS": "30",
    "STEADY_SECONDS": "0.5",
    "PLACE_SECONDS": "5",
    "JOIN_SECONDS": "60",
    "READY_SECONDS": "60",
    "BURN_IN_SECONDS": "120",
    "ANSWER_PORT": "",
    "MOMENT": "0.2",
    "PAUSE": "0.2",
}
"""How long steps wait on a twin, where all that moves at all moves at once: what is not gone by then stays. No machine
is behind an address, and none is asked for an answer.
"""
UNTOLD = ("MOMENT", "PAUSE", "PLACE_SECONDS")
"""Of these, what no operation is told: the scripts know them by themselves."""
ATTEMPTS, VERDICT = 3, 2
LIMIT = 3600.0
"""Seconds for one step, as over all nodes of a cluster."""
OWN_POD = "step"
"""What the pod of each step is called."""
ITEM = "item"
"""What Argo calls the one of several for which a step is run."""
WORD = re.compile(r"\{\{([a-z0-9.-]+)\}\}")


class Step(Struct, frozen=True, kw_only=True):
    """A step that was run: its exit code (2 is a verdict), why it failed in its last words, what it said, and when it
    began and how long it took, in seconds.
    """

    name: str
    code: int
    why: str
    said: tuple[str, ...]
    begun: float
    seconds: float


def drain_seconds(pods: Iterable[Manifest]) -> int:
    """Return how long a node is waited for until it is empty: a second for each pod on the fullest one, which are
    evicted one by one and may take as long on a busy machine.
    """
    on = Counter(node for one in pods if (node := dig(one, "spec", "nodeName")))
    return max(int(SHORT["DRAIN_SECONDS"]), *on.values(), 0)


class Course:
    """One run of an operation. `scripts` are the files of its steps, by name; `drain` is as `drain_seconds` says."""

    def __init__(
        self, plane: Plane, template: Manifest, scripts: Mapping[str, str], folder: Path, drain: int = 0
    ) -> None:
        self.plane, self.spec, self.folder = plane, template["spec"], folder
        self.short = SHORT | ({"DRAIN_SECONDS": str(drain)} if drain else {})
        self.name = template["metadata"]["name"]
        self.namespace = template["metadata"]["namespace"]
        self.templates = {one["name"]: one for one in self.spec["templates"]}
        for each in ("scripts", "told", "account"):
            (folder / each).mkdir(mode=0o700)
        for name, text in scripts.items():
            (folder / "scripts" / name).write_text(text)

    def steps(self, given: Mapping[str, str], last: str = "") -> Iterator[Step]:
        """Run step after step until one fails or the `last` one has ended, then the exit handler, if any; yield
        how each ended. Raises UsageError.
        """
        self._account()
        begun, status = monotonic(), "Succeeded"
        known = of_run(self.name, given)
        for one, told in self._walk(self.spec["entrypoint"], known):
            done = self._run(one, told, begun)
            yield done
            if done.code:
                status = "Failed"
                break
            if one["name"] == last:
                return
        if "onExit" in self.spec:
            # Its first step: those after it are tries more, which `_run` has as well.
            one, told = next(self._walk(self.spec["onExit"], known | {"workflow.status": status}))
            yield self._run(one, told, begun)

    def _account(self) -> None:
        """Write what a pod of the operation's account is given."""
        config = json.loads(self.plane.account(self.namespace, self.spec["serviceAccountName"]).read_text())
        (self.folder / "account" / "token").write_text(config["users"][0]["user"]["token"])
        (self.folder / "account" / "ca.crt").write_bytes(self.plane.address.certificate.read_bytes())

    def _walk(self, name: str, known: dict[str, str]) -> Iterator[tuple[Manifest, Mapping[str, str]]]:
        """Yield the templates that are run, in order, each with what is known to it; whether one is may depend on what
        one before it has told, and so may what it is run for.
        """
        found = self.templates[name]
        if "steps" not in found:
            yield found, known
            return
        for one in (each for group in found["steps"] for each in group):
            if holds(str(one.get("when", "")), known):
                for given in inputs(one, known):
                    yield from self._walk(one["template"], known | given)
                self._told(one["name"], self.templates[one["template"]], known)

    def _told(self, name: str, template: Manifest, known: MutableMapping[str, str]) -> None:
        """Take up what a step has left for later ones."""
        for one in sequence(dig(template, "outputs", "parameters")):
            file = self.folder / "told" / Path(str(dig(one, "valueFrom", "path"))).name
            if file.is_file():
                known[f"steps.{name}.outputs.parameters.{one['name']}"] = file.read_text()

    def _run(self, template: Manifest, known: Mapping[str, str], begun: float) -> Step:
        """Run a step, again where it had trouble that may pass, as Argo would."""
        at = monotonic()
        for _ in range(ATTEMPTS):
            code, said = self._once(template["container"], known)
            if code in (0, VERDICT):
                break
        return Step(
            name=" of ".join(filter(None, (template["name"], known.get(ITEM)))),
            code=code,
            why=(self.folder / "words").read_text(),
            said=tuple(said.splitlines()),
            begun=at - begun,
            seconds=monotonic() - at,
        )

    def _once(self, container: Manifest, known: Mapping[str, str]) -> tuple[int, str]:
        (self.folder / "words").write_text("")
        script = self.folder / "scripts" / Path(container["command"][-1]).name
        command = [sys.executable, "-B", str(script), *container["args"]]
        try:
            return 0, run(command, env=self._env(container, known), timeout=LIMIT)
        except CommandError as error:
            return error.status, error.output

    def _env(self, container: Manifest, known: Mapping[str, str]) -> dict[str, str]:
        told = {one["name"]: filled(str(one["value"]), known) for one in container["env"] if "value" in one}
        waits = {name: value for name, value in self.short.items() if name in told or name in UNTOLD}
        return {
            **told,
            **waits,
            "PATH": "/usr/bin:/bin",
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.plane.address.port),
            "ACCOUNT": str(self.folder / "account"),
            "TOLD": str(self.folder / "told"),
            "LAST_WORDS": str(self.folder / "words"),
            "POD": OWN_POD,
        }


def of_run(name: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return what Argo tells the steps of a run of an operation, but for how it ended."""
    told = {f"workflow.parameters.{parameter}": value for parameter, value in given.items()}
    return told | {"workflow.name": f"{name}-simulated", "workflow.uid": f"{name}-simulated"}


def filled(text: str, known: Mapping[str, str]) -> str:
    """Return a text with what Argo would put into it. Raises UsageError for what is not known here."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in known:
            raise UsageError(f"the operation asks Argo for {found[1]}, which a simulation does not know")
        return known[found[1]]

    return WORD.sub(value, text)


def inputs(step: Manifest, known: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield what a step is given, once for each item of those that it is run for."""
    items = json.loads(filled(str(step["withParam"]), known)) if "withParam" in step else [""]
    for item in items:
        own = {**known, **({ITEM: str(item)} if item else {})}
        given = sequence(dig(step, "arguments", "parameters"))
        told = {f"inputs.parameters.{one['name']}": filled(str(one["value"]), own) for one in given}
        yield told | ({ITEM: own[ITEM]} if item else {})


def holds(when: str, known: Mapping[str, str]) -> bool:
    """Tell whether a step is run: Argo's `when`, as gen writes it, of two words that are equal or not."""
    if not when:
        return True
    left, sign, right = filled(when, known).split()
    same = left.strip("'") == right.strip("'")
    return same if sign == "==" else not same
