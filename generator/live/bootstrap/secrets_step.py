"""The Secrets that no component makes: what is there, what would be made, and what a person must give."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from msgspec import Struct

from generator.components.component import Computed, Manifest, Secret
from generator.live.bootstrap import made_secrets
from generator.live.bootstrap.copies import copies
from generator.live.bootstrap.escrow import append, unfit
from generator.live.bootstrap.secret_values import Values, origin, variable
from generator.live.bootstrap.step import Item, State, Step
from generator.live.running import RunningCluster
from generator.live.secret_objects import collection, encoded, path, values_of
from generator.live.secret_state import state_of
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping

MADE = {"given", "generated"}


class Keeping(Struct, frozen=True, kw_only=True):
    """Where values come from, and the escrow file of those with which data would be lost."""

    values: Values
    escrow: Path | None = None


class Secrets(Struct, frozen=True, kw_only=True):
    """The declared Secrets that do not come from a component, and what the cluster has of them."""

    running: RunningCluster
    cluster: Cluster
    declared: tuple[Secret, ...]
    live: Mapping[str, Manifest | None]
    keeping: Keeping

    def step(self) -> Step:
        """Tell of each Secret how it stands."""
        items = tuple(item for secret in self.declared for item in self._items(secret))
        return Step(name="secrets", items=items, act=self._act)

    def _items(self, secret: Secret) -> Iterator[Item]:
        name, there = secret.full_name, self.live[secret.full_name]
        if secret.source == "external":
            yield _from_outside(secret, there)
        elif there:
            yield from self._present(secret, there)
        elif wrong := self._missing(secret) or self._unsafe(secret):
            yield from (Item(State.WAITS, f"{name}: {why}") for why in wrong)
        else:
            yield Item(State.TO_DO, f"{name}: made, {self._how(secret)}")

    def _present(self, secret: Secret, there: Manifest) -> Iterator[Item]:
        name, held = secret.full_name, values_of(there)
        lacking = [key for key in secret.keys if not held.get(key)]
        if lacking:
            yield Item(State.WAITS, f"{name} is there and lacks {', '.join(lacking)}; {_completing(secret)}")
        elif stale := [key for key, one in secret.computed.items() if _does_not_fit(key, one, held)]:
            yield Item(State.WAITS, f"{name}: {', '.join(stale)} is not of its other keys; delete it: it is made anew")
        elif moved := [key for key, value in secret.known.items() if secret.copy_of and held[key] != value.encode()]:
            what = f"{', '.join(moved)} is not what the cluster file says"
            yield Item(State.WAITS, f"{name}: {what}; delete it: it is made anew")
        elif other := self._disagrees(secret, held):
            yield Item(State.WAITS, f"{name} and {other} must hold the same and do not; {self._making_same(secret)}")
        elif labels := _unlabeled(secret, there):
            yield Item(State.TO_DO, f"{name}: labeled {', '.join(f'{key}={value}' for key, value in labels.items())}")
        elif secret.loss == "data" and made_secrets.noted(self.running, name) != made_secrets.MADE:
            yield Item(State.TO_DO, f"{name} is there: noted, so that it is never made anew while data depends on it")
        else:
            yield Item(State.DONE, f"{name} is there")

    def _disagrees(self, secret: Secret, held: Mapping[str, bytes]) -> str:
        """Return another Secret that must hold the same values and does not."""
        for other in self.declared:
            there = self.live[other.full_name]
            if there and other != secret and origin(other) == origin(secret) and not self._of_team(other):
                theirs = values_of(there)
                if any(theirs.get(key) not in {None, held[key]} for key in secret.keys):
                    return other.full_name
        return ""

    def _making_same(self, secret: Secret) -> str:
        if state_of(self.live.get(origin(secret)) or {}).step:
            return f"`gen secret rotate {origin(secret)} --apply` goes on with what is under way"
        return f"delete {secret.full_name if self._of_team(secret) else 'the one that is wrong'}"

    def _missing(self, secret: Secret) -> list[str]:
        """Say what a person must give."""
        asked = filter(secret.by_person, secret.keys)
        missing = [key for key in asked if self._copied(secret, key) is None]
        missing = [key for key in missing if self.keeping.values.asked(secret, key) is None]
        return [_wanted(secret, key) for key in missing]

    def _unsafe(self, secret: Secret) -> list[str]:
        """Say why a Secret with which data would be lost cannot be made."""
        if secret.loss != "data":
            return []
        if wrong := list(self._unkept()):
            return wrong
        if self._new(secret) and (
            why := made_secrets.made_before(self.running, self.cluster, secret, self.keeping.escrow)
        ):
            return [why]
        return []

    def _unkept(self) -> Iterator[str]:
        if not self.cluster.site.escrow.recipients:
            yield "data is lost with it, and nobody could decrypt a copy: name age keys in site.escrow.recipients"
        elif self.keeping.escrow is None:
            yield "data is lost with it: --escrow FILE names where an encrypted copy is added, outside the cluster"
        elif why := unfit(self.keeping.escrow):
            yield f"its encrypted copy cannot be written: {why}"

    def _how(self, secret: Secret) -> str:
        kept = f", with a copy for {len(self.cluster.site.escrow.recipients)} people in {self.keeping.escrow}"
        what = "with new random values" if secret.source == "generated" else "of what is given"
        if secret.asked:
            what = "of what is given, and new random values"
        if secret.copy_of:
            what = f"as a copy of {secret.copy_of}"
        return f"{what}{kept if secret.loss == 'data' else ''}"

    def _new(self, secret: Secret) -> bool:
        """Tell whether a Secret would get values that there never were."""
        made = (key for key in secret.keys if not secret.by_person(key))
        return secret.source == "generated" and any(self._fresh(secret, key) for key in made)

    def _fresh(self, secret: Secret, key: str) -> bool:
        return self._copied(secret, key) is None and self.keeping.values.given(secret, key) is None

    def _copied(self, secret: Secret, key: str) -> bytes | None:
        """Return what another Secret that must hold the same has already."""
        same = (one for one in self.declared if origin(one) == origin(secret) and not self._of_team(one))
        held = (values_of(there) for one in same if (there := self.live[one.full_name]))
        return next((value for one in held if (value := one.get(key))), None)

    def _of_team(self, secret: Secret) -> bool:
        """Tell whether people of a team may write a Secret: what it holds then counts nowhere else."""
        return secret.namespace in {team.name for team in self.cluster.teams}

    def _act(self) -> Iterator[str]:
        for secret in self.declared:
            there = self.live[secret.full_name]
            if there is None and secret.source in MADE:
                yield from self._make(secret)
            elif there and secret.source in MADE:
                yield from self._complete(secret, there)

    def _make(self, secret: Secret) -> Iterator[str]:
        name, new, manifest = secret.full_name, self._new(secret), self._manifest(secret)
        if secret.loss == "data":
            assert self.keeping.escrow  # noqa: S101 - `_unsafe` has seen to it
            # Old values that are given back may be needed already: nobody may make others in their place.
            made_secrets.note(self.running, name, made_secrets.MAKING if new else made_secrets.MADE)
            append(self.keeping.escrow, self.cluster, manifest)
            yield f"{name}: encrypted copy added to {self.keeping.escrow}"
        made = self.running.create(f"{collection(secret)}?fieldManager=gen", manifest)
        if secret.loss == "data":
            if not made:
                self._keep_other(secret, manifest)
            made_secrets.note(self.running, name, made_secrets.MADE)
        yield f"{name}: made" if made else f"{name}: was there meanwhile, left as it is"

    def _keep_other(self, secret: Secret, manifest: Manifest) -> None:
        """Add a copy of what somebody else made meanwhile: the newest copy is what a person brings back."""
        assert self.keeping.escrow  # noqa: S101 - `_unsafe` has seen to it
        if there := self.running.get(path(secret)):
            append(self.keeping.escrow, self.cluster, {**manifest, "data": there.get("data") or {}})

    def _complete(self, secret: Secret, there: Manifest) -> Iterator[str]:
        name = secret.full_name
        if labels := _unlabeled(secret, there):
            self.running.merge(path(secret), {"metadata": {"labels": labels}})
            yield f"{name}: labeled"
        if secret.loss == "data" and made_secrets.noted(self.running, name) != made_secrets.MADE:
            made_secrets.note(self.running, name, made_secrets.MADE)
            yield f"{name}: noted as made"

    def _manifest(self, secret: Secret) -> Manifest:
        data = encoded({key: self._value(secret, key) for key in secret.keys})
        metadata = {"name": secret.name, "namespace": secret.namespace, "labels": secret.labels}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}

    def _value(self, secret: Secret, key: str) -> bytes:
        there, computed = self._copied(secret, key), secret.computed.get(key)
        # A copy may be there without what it was made of, which is then another one.
        if computed and (there is None or not secret.copy_of):
            return computed.value(*(self._value(secret, one) for one in computed.of))
        if there is not None:
            return there
        if secret.source == "generated" and not secret.by_person(key):
            return self.keeping.values.made(secret, key)
        found = self.keeping.values.asked(secret, key)
        assert found is not None  # noqa: S101 - `_missing` has seen to it
        return found


def secrets_step(running: RunningCluster, cluster: Cluster, declared: Iterable[Secret], keeping: Keeping) -> Step:
    """Look how the declared Secrets stand. Of those that a component makes only copies are kept, where data would be
    lost with them.
    """
    every = tuple(declared)
    wanted = tuple(one for one in every if one.source in MADE or one.source == "external")
    live = {one.full_name: running.get(path(one)) for one in wanted}
    step = Secrets(running=running, cluster=cluster, declared=wanted, live=live, keeping=keeping).step()
    found = tuple(copies(running, cluster, every, keeping.escrow))
    items = (*step.items, *(one.item() for one in found))
    return Step(name=step.name, items=items, act=lambda: chain(step.act(), *(one.act() for one in found)))


def _from_outside(secret: Secret, there: Manifest | None) -> Item:
    """Tell how a Secret stands that bootstrap only sees to: others bring it, after Argo CD has come at the earliest."""
    name, source = secret.full_name, f"from outside{f', the entry {secret.entry} of the store' if secret.entry else ''}"
    if there is None:
        return Item(State.LATER, f"{name}: comes {source}")
    if lacking := [key for key in secret.keys if not values_of(there).get(key)]:
        return Item(State.LATER, f"{name} is there and lacks {', '.join(lacking)}, which comes {source}")
    return Item(State.DONE, f"{name} is there")


def _does_not_fit(key: str, computed: Computed, held: Mapping[str, bytes]) -> bool:
    """Tell whether a value is not what those that it is made of give; a copy need not hold these."""
    made_of = [held[one] for one in computed.of if one in held]
    return len(made_of) == len(computed.of) and computed.value(*made_of) != held[key]


def _unlabeled(secret: Secret, there: Manifest) -> dict[str, str]:
    labels = mapping(dig(there, "metadata", "labels"))
    return {key: value for key, value in secret.labels.items() if labels.get(key) != value}


def _completing(secret: Secret) -> str:
    return "add that" if secret.loss == "data" else "add that, or delete the Secret: it is made anew"


def _wanted(secret: Secret, key: str) -> str:
    instead = f", or the variable {name}" if (name := variable(secret, key)) else ""
    return f"{key} is missing: put it into DIR/{origin(secret)}/{key} for --secrets-dir DIR{instead}"
