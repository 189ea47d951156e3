"""A server-side dry run of everything that is built: what a real API server says to each object."""

from collections import Counter
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from generator.build.kinds import CRD, Kinds
from generator.build.objects import ROOT, Built, Object
from generator.components.component import Manifest
from generator.live.api import Answer, ApiConnection, Request
from generator.live.discovery import TRY, discover, place
from generator.live.dry_run.changing_definitions import Changing
from generator.live.dry_run.definitions import install, wanted
from generator.live.dry_run.refusals import findings, namespace_absent, unserved
from generator.model.fields import dig
from generator.model.finding import Finding
from generator.model.plural import plural
from generator.rules.judging import Answers
from generator.rules.providers import wave_of, waves

_BY_THE_NEW = "; without --kubeconfig a throw-away server judges by the new one"


def dry_run(built: Built, api: ApiConnection) -> Answers:
    """Let a server judge every object by a server-side apply that stores nothing.

    On a throw-away server definitions (those at hand as well) and namespaces are stored first; on a user's cluster
    nothing is, and what only comes with the same commit is judged as far as possible. Raises UsageError where there is
    no talking to the server.
    """
    stored = wanted(built) if api.throw_away else []
    early = list(_prepare(built, api, stored)) if api.throw_away else []
    run = _Run(built, api, [one for one in stored if not _converted(one)])
    # Each once: a definition with a conversion webhook is stored without it, and then tried with it.
    found = tuple(dict.fromkeys((*early, *run.findings())))
    unjudged = tuple(f"{plural(number, 'object')}: {why}" for why, number in run.unjudged.items())
    return Answers(findings=found, judged=run.judged, unjudged=unjudged)


def _converted(definition: Object) -> bool:
    strategy: object = dig(definition.manifest, "spec", "conversion", "strategy")
    return strategy == "Webhook"


def _prepare(built: Built, api: ApiConnection, definitions: Iterable[Object]) -> Iterator[Finding]:
    yield from install(api, definitions)
    spaces = [one.manifest for one in built.of("Namespace")]
    if built.cluster is None:
        # A folder need not bring the namespaces that it writes to.
        names = {one.namespace for one in built.objects} - {str(one["metadata"].get("name")) for one in spaces} - {""}
        spaces += [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in sorted(names)]
    # One that is refused here is refused and told again as a dry run.
    list(api.ask_all([_store(one) for one in spaces]))


def _store(space: Manifest) -> Request:
    path = f"/api/v1/namespaces/{_word(space['metadata'].get('name'))}?fieldManager=gen&force=true"
    return Request(path=path, method="PATCH", body=space)


def _word(name: object) -> str:
    return quote(str(name), safe="")


class _Run:
    """One judgement: what was judged, what was not and why. `stored` are definitions that the server has taken or
    refused already, whole; to try a large one again takes long.
    """

    def __init__(self, built: Built, api: ApiConnection, stored: Iterable[Object]) -> None:
        self.api = api
        done = {id(one.manifest) for one in stored}
        self.objects = [one for one in in_order(built) if id(one.manifest) not in done]
        self.kinds = Kinds.of(built)
        self.changing = Changing(api, () if api.throw_away else built.of(CRD))
        self.served = discover(api, {str(one.manifest["apiVersion"]) for one in self.objects})
        self.spaces = {one.name for one in built.of("Namespace")}
        self.judged = len(built.objects) - len(self.objects)
        self.unjudged: Counter[str] = Counter()

    def findings(self) -> Iterator[Finding]:
        """Yield what the server says against each object."""
        asked = [one for one in self.objects if place(self.served, one)]
        answers = self.api.ask_all([self._apply(one) for one in asked])
        answered = {id(one): answer for one, answer in zip(asked, answers, strict=True)}
        for one in self.objects:
            answer = answered.get(id(one))
            yield from self._unserved(one) if answer is None else self._answered(one, answer)

    def _apply(self, one: Object) -> Request:
        if "name" not in one.manifest["metadata"]:  # it has a generateName
            return self._create(one)
        path = f"{place(self.served, one)}/{_word(one.name)}?{TRY}&force=true"
        return Request(path=path, method="PATCH", body=one.manifest)

    def _create(self, one: Object, namespace: str = "") -> Request:
        metadata = one.manifest["metadata"] | ({"namespace": namespace} if namespace else {})
        path = f"{place(self.served, one, namespace=namespace)}?{TRY}"
        return Request(path=path, method="POST", body={**one.manifest, "metadata": metadata})

    def _unserved(self, one: Object) -> Iterator[Finding]:
        version, group = one.version, one.group
        known = self.kinds.versions(group, one.kind)
        if version in known and not self.kinds.ours(group):
            self.unjudged[f"the definition of {one.kind}.{group} is new to the server, or was refused"] += 1
        elif known or self.kinds.ours(group):
            self.judged += 1
            yield unserved(one, known)
        else:
            self.unjudged[f"nothing here defines {one.kind}.{group}; vendor it, or give its CRD with --schemas"] += 1

    def _answered(self, one: Object, answer: Answer) -> Iterator[Finding]:
        if namespace_absent(answer) and one.namespace in self.spaces:
            yield from self._elsewhere(one)
            return
        if answer.status == 500 and "typed patch object" in answer.message:
            # Server-side apply tells one unknown field, creation all of them.
            again = self.api.ask(self._create(one))
            answer = again if "strict decoding error" in again.message else answer
        yield from self._refused(one, answer)

    def _elsewhere(self, one: Object) -> Iterator[Finding]:
        """Judge an object whose namespace is new by creating it in `default`."""
        answer = self.api.ask(self._create(one, "default"))
        if answer.status in {403, 409}:  # the rules of that namespace, or one of that name: neither says anything
            self.unjudged[f"the namespace {one.namespace} is new to the cluster"] += 1
            return
        yield from self._refused(one, answer)

    def _refused(self, one: Object, answer: Answer) -> Iterator[Finding]:
        """Tell what an object is refused for, unless its new definition may allow all of that."""
        found = list(findings(one, answer))
        left = [each for each in found if not self.changing.excuses(one, each)]
        if found and not left:
            self.unjudged[f"the definition of {one.kind}.{one.group} changes with this commit{_BY_THE_NEW}"] += 1
            return
        self.judged += 1
        yield from left


def within(one: Object) -> tuple[int, int]:
    """Return when an object's turn comes within its Application: by its wave, what others lie in or are of first."""
    return wave_of(one) or 0, {"Namespace": 0, "CustomResourceDefinition": 1}.get(one.kind, 2)


def in_order(built: Built) -> list[Object]:
    """Return the objects as Argo CD would apply them: by the wave of their Application, then their own wave, then
    namespaces and definitions first. The Applications themselves come before what they hold. Within that the order
    stays.
    """
    of_application = {ROOT: -(2**31), **waves(built)}
    return sorted(built.objects, key=lambda one: (of_application.get(one.component, 0), *within(one)))
