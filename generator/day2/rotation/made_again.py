"""Secrets that a program of the cluster makes: emptied or deleted, so that it makes others."""

from functools import partial

from generator.components.component import Manifest, Secret, Turn
from generator.day2.rotation.store_users import give_keys
from generator.day2.rotation.syncs import Waiting
from generator.errors import UsageError
from generator.live.running import RunningCluster
from generator.live.secret_objects import path, values_of
from generator.model.fields import dig, mapping

CA = "ca.crt"


def jobless(running: RunningCluster, secret: Secret, turn: Turn) -> str:
    """Return why who makes a Secret cannot be run, "" where that can be."""
    if not turn.job or running.get(_cron_job(secret, turn)):
        return ""
    where = f"CronJob {turn.job} in {secret.namespace}"
    return f"there is no {where}, which makes {secret.full_name}: `gen sync {secret.by}` first"


def make_again(running: RunningCluster, secret: Secret, turn: Turn, waiting: Waiting) -> None:
    """Have other values made, and wait for them. Raises UsageError where they are those from before."""
    before = running.get(path(secret))
    if turn.way == "empty":
        _empty(running, secret, before)
    elif turn.way == "user":
        give_keys(running, secret, turn, waiting)
    elif before or turn.deletes:
        running.delete(turn.deletes or path(secret))
    if turn.job:
        _run(running, secret, turn)
    waiting.until(running, partial(_lacking, running, secret, before if turn.way == "delete" else None))
    after = running.get(path(secret)) or {}
    if before and before.get("data") and _values(secret, after) == _values(secret, before):
        raise UsageError(f"{secret.full_name}: {secret.by} made it again with the values that it had: {secret.rotate}")


def _values(secret: Secret, there: Manifest) -> dict[str, bytes | None]:
    return {key: values_of(there).get(key) for key in secret.keys}


def _empty(running: RunningCluster, secret: Secret, there: Manifest | None) -> None:
    """Take all values away, unless somebody changed them since they were read."""
    if there and there.get("data"):
        guard = {"resourceVersion": dig(there, "metadata", "resourceVersion")}
        running.merge(path(secret), {"metadata": guard, "data": None})


def _cron_job(secret: Secret, turn: Turn) -> str:
    return f"/apis/batch/v1/namespaces/{secret.namespace}/cronjobs/{turn.job}"


def _run(running: RunningCluster, secret: Secret, turn: Turn) -> None:
    """Run the CronJob that makes a Secret, now."""
    template = mapping(dig(running.get(_cron_job(secret, turn)) or {}, "spec", "jobTemplate"))
    metadata = {**mapping(template.get("metadata")), "generateName": f"{turn.job}-"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template.get("spec")}
    running.create(f"/apis/batch/v1/namespaces/{secret.namespace}/jobs", job)


def _lacking(running: RunningCluster, secret: Secret, before: Manifest | None) -> str:
    """Say what is waited for: another object than the one from before, and a value for each key."""
    found = running.get(path(secret))
    if found is None or (before and dig(found, "metadata", "uid") == dig(before, "metadata", "uid")):
        return f"{secret.by} makes {secret.full_name} again"
    lacking = [key for key in secret.keys if not values_of(found).get(key)]
    return f"{secret.by} fills {', '.join(lacking)} of {secret.full_name}" if lacking else ""


def sign_again(running: RunningCluster, authority: Secret, turn: Turn, waiting: Waiting) -> None:
    """Have what a CA signs made again, and wait until the CA that is new signed it. Each is deleted once at most."""
    deleted: set[object] = set()
    for name in turn.signs:
        waiting.until(running, partial(_unsigned, running, authority, turn, name, deleted))


def _unsigned(running: RunningCluster, authority: Secret, turn: Turn, name: str, deleted: set[object]) -> str:
    """Say what is waited for. What another CA signed is deleted; a Job writes over it, and what it wrote must stay."""
    held = running.get(path(authority)) or {}
    place = f"{path(authority).rpartition('/')[0]}/{name}"
    found = running.get(place)
    if found and found.get("data"):
        if mapping(found["data"]).get(CA) == mapping(held.get("data")).get(CA):
            return ""
        uid = dig(found, "metadata", "uid")
        if uid not in deleted and not turn.job:
            deleted.add(uid)
            running.delete(place)
    return f"{authority.namespace}/{name} is signed by the new {authority.name}"
