"""Secrets that bootstrap makes: from where their values come, what is left alone, and what is never made again."""

import base64
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from livecluster import LiveCluster, forbidden, living
from msgspec import structs
from pyrage import decrypt, x25519
from reference import ROOT

from generator.components.argo_cd.access import repository
from generator.components.component import Computed, Secret
from generator.errors import UsageError
from generator.live.bootstrap import escrow
from generator.live.bootstrap.secret_values import Values
from generator.live.bootstrap.secrets_step import Keeping, secrets_step
from generator.live.bootstrap.step import State, Step
from generator.live.identity import record
from generator.live.running import RunningCluster
from generator.model.cluster import Cluster
from generator.model.secret_store import Escrow

KEY = "data-secret.backup.key"


def declared(name: str = "grafana", source: Any = "generated", **more: Any) -> Secret:
    given = {"namespace": "a", "keys": ("password",), "loss": "harmless", "rotate": "-", "readers": ("b",)}
    return Secret(name=name, source=source, **{**given, **more})


def data_key() -> Secret:
    return declared("key", namespace="backup", loss="data")


class Person:
    """Somebody who runs bootstrap, with a folder of values, an escrow file and whatever the environment says."""

    def __init__(self, folder: Path, running: RunningCluster, cluster: Cluster) -> None:
        self.folder, self.running, self.identity = folder / "given", running, x25519.Identity.generate()
        recipients = Escrow(recipients=(str(self.identity.to_public()),))
        self.cluster = structs.replace(cluster, site=structs.replace(cluster.site, escrow=recipients))
        self.escrow: Path | None = folder / "escrow"
        self.environment: dict[str, str] = {}
        self.answers: list[str] = []
        self.questions: list[str] = []

    def give(self, place: str, value: bytes) -> None:
        (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / place).write_bytes(value)

    def ask(self, what: str) -> str:
        self.questions.append(what)
        return self.answers.pop(0) if self.answers else ""

    def step(self, *secrets: Secret, asking: bool = False) -> Step:
        values = Values(self.folder, self.environment, self.ask if asking else None)
        return secrets_step(self.running, self.cluster, secrets, Keeping(values=values, escrow=self.escrow))

    def make(self, *secrets: Secret, asking: bool = False) -> list[str]:
        step = self.step(*secrets, asking=asking)
        assert step.blocked == []
        return list(step.act())


@pytest.fixture
def fake(tmp_path: Path, a30: Cluster) -> Any:
    with living(tmp_path, record(a30)) as (cluster, running):
        for name in ("a", "backup", "argocd"):
            cluster.add_namespace(name)
        yield cluster, Person(tmp_path, running, a30)


Fake = tuple[LiveCluster, Person]


def held(cluster: LiveCluster, name: str, namespace: str = "a") -> dict[str, str]:
    found = cluster.get("Secret", name, namespace)
    return {key: base64.b64decode(value).decode() for key, value in found.get("data", {}).items()}


def secret(name: str, labels: dict[str, str] | None = None, **values: str) -> dict[str, Any]:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    metadata = {"name": name, "namespace": "a", "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def test_generated_values_have_the_form_that_readers_take(fake: Fake) -> None:
    cluster, person = fake
    said = person.make(
        declared(), declared("second"), declared("third", form="base64"), declared("f", known={"password": "x"})
    )
    assert re.fullmatch("[0-9a-f]{48}", held(cluster, "grafana")["password"])
    assert held(cluster, "second") != held(cluster, "grafana")
    assert len(base64.b64decode(held(cluster, "third")["password"])) == 32
    assert held(cluster, "f") == {"password": "x"}
    assert said == ["a/grafana: made", "a/second: made", "a/third: made", "a/f: made"]
    assert not any(held(cluster, "grafana")["password"] in line for line in said)


def test_a_file_counts_before_chance(fake: Fake) -> None:
    cluster, person = fake
    person.give("a/grafana/password", b"mine")
    person.make(declared())
    assert held(cluster, "grafana") == {"password": "mine"}


@pytest.mark.parametrize(
    ("content", "value"),
    [(b"word\n", "word"), (b"word\r\n", "word"), (b"word", "word"), (b"a\nb\n", "a\nb\n"), (b"word ", "word ")],
)
def test_the_line_end_behind_a_single_line_is_an_editors(content: bytes, value: str, fake: Fake) -> None:
    cluster, person = fake
    person.give("a/x/password", content)
    person.make(declared("x", "given"))
    assert held(cluster, "x") == {"password": value}


@pytest.mark.parametrize("content", [b"", b"\n"])
def test_an_empty_file_gives_nothing(content: bytes, fake: Fake) -> None:
    _, person = fake
    person.give("a/x/password", content)
    assert person.step(declared("x", "given")).blocked == [
        "a/x: password is missing: put it into DIR/a/x/password for --secrets-dir DIR"
    ]


def test_a_person_is_asked_for_what_is_missing_once(fake: Fake) -> None:
    cluster, person = fake
    person.answers = ["a word"]
    step = person.step(declared("x", "given"), asking=True)
    assert step.blocked == []
    list(step.act())
    assert person.questions == ["a/x password"]
    assert held(cluster, "x") == {"password": "a word"}


def test_some_keys_are_given_and_chance_makes_the_others(fake: Fake) -> None:
    cluster, person = fake
    mixed = declared("x", keys=("user", "password"), asked=("user",))
    copy = declared("y", keys=("user", "password", "url"), asked=("user",), copy_of="a/x", known={"url": "s3:here"})
    assert person.step(mixed, copy).blocked == [
        f"a/{name}: user is missing: put it into DIR/a/x/user for --secrets-dir DIR" for name in ("x", "y")
    ]
    person.give("a/x/user", b"ann")
    person.make(mixed, copy)
    made = held(cluster, "x")
    assert (made["user"], len(made["password"])) == ("ann", 48)
    assert held(cluster, "y") == {**made, "url": "s3:here"}


def test_a_copy_that_says_another_place_than_the_file_is_told(fake: Fake) -> None:
    _, person = fake
    copy = declared("y", keys=("password", "url"), copy_of="a/x", known={"url": "s3:here"})
    person.make(declared("x"), copy)
    moved = structs.replace(copy, known={"url": "s3:there"})
    assert person.step(declared("x"), moved).blocked == [
        "a/y: url is not what the cluster file says; delete it: it is made anew"
    ]


def test_an_answer_may_name_a_file(fake: Fake, tmp_path: Path) -> None:
    cluster, person = fake
    (tmp_path / "key.pem").write_text("two\nlines\n")
    person.answers = [f"@{tmp_path / 'key.pem'}"]
    person.make(declared("x", "given"), asking=True)
    assert held(cluster, "x") == {"password": "two\nlines\n"}
    person.answers = ["@/nowhere"]
    with pytest.raises(UsageError, match="/nowhere: cannot be read"):
        person.step(declared("y", "given"), asking=True)


def test_the_login_for_git_comes_from_the_environment(fake: Fake, a30: Cluster, tmp_path: Path) -> None:
    cluster, person = fake
    person.environment = {"GEN_REPOSITORY_USERNAME": "ann", "GEN_REPOSITORY_PASSWORD": "w"}
    person.make(repository(a30))
    assert held(cluster, "repository", "argocd") == {
        "type": "git",
        "url": a30.repository.url,
        "username": "ann",
        "password": "w",
    }
    assert cluster.get("Secret", "repository")["metadata"]["labels"] == {"argocd.argoproj.io/secret-type": "repository"}
    (tmp_path / "key").write_text("-----BEGIN\nkey\n")
    person.environment = {"GEN_REPOSITORY_SSH_KEY_FILE": str(tmp_path / "key")}
    over_ssh = structs.replace(a30, repository=structs.replace(a30.repository, url="git@host:a.git"))
    person.make(structs.replace(repository(over_ssh), name="by-ssh"))
    assert held(cluster, "by-ssh", "argocd")["sshPrivateKey"] == "-----BEGIN\nkey\n"


def test_the_environment_gives_nothing_to_other_secrets(fake: Fake) -> None:
    _, person = fake
    person.environment = {"GEN_REPOSITORY_PASSWORD": "w"}
    assert person.step(declared("x", "given")).blocked


def test_a_secret_that_is_there_is_left_alone(fake: Fake) -> None:
    cluster, person = fake
    cluster.add(secret("grafana", password="theirs"))
    person.give("a/grafana/password", b"mine")
    step = person.step(declared())
    assert [item.state for item in step.items] == [State.DONE]
    list(step.act())
    assert held(cluster, "grafana") == {"password": "theirs"}


def test_one_that_lacks_a_key_waits_for_a_person(fake: Fake) -> None:
    cluster, person = fake
    cluster.add(secret("grafana", password="", username="x"))
    (why,) = person.step(declared(keys=("username", "password"))).blocked
    assert why == "a/grafana is there and lacks password; add that, or delete the Secret: it is made anew"


def test_one_that_lacks_its_label_gets_it(fake: Fake) -> None:
    cluster, person = fake
    cluster.add(secret("grafana", {"mine": "x"}, password="p"))
    wanted = declared(labels={"app": "b"})
    assert person.step(wanted).pending
    assert person.make(wanted) == ["a/grafana: labeled"]
    assert cluster.get("Secret", "grafana")["metadata"]["labels"] == {"mine": "x", "app": "b"}
    assert not person.step(wanted).pending


@pytest.mark.parametrize("first", ["user", "copy"])
def test_copies_hold_the_same_whichever_is_there(first: str, fake: Fake) -> None:
    cluster, person = fake
    pair = declared("user"), declared("copy", copy_of="a/user")
    person.make(*(pair if first == "user" else pair[::-1]))
    assert held(cluster, "user") == held(cluster, "copy")
    del cluster.objects[f"/api/v1/namespaces/a/secrets/{first}"]
    before = held(cluster, "user") or held(cluster, "copy")
    person.make(*pair)
    assert held(cluster, "user") == held(cluster, "copy") == before


def token(access: bytes, key: bytes) -> bytes:
    return access[:4] + b"." + key[:4]


TOKEN = Computed(of=("access", "key"), value=token, function="-", script="-")
KEYS = declared("keys", keys=("access", "key", "token"), computed={"token": TOKEN})
COPY = declared("copy", keys=("token",), computed={"token": TOKEN}, copy_of="a/keys")


@pytest.mark.parametrize("order", [(KEYS, COPY), (COPY, KEYS)])
def test_a_value_that_others_make_is_that_of_its_secret_s_keys(order: tuple[Secret, ...], fake: Fake) -> None:
    cluster, person = fake
    person.make(*order)
    values = held(cluster, "keys")
    assert values["token"] == f"{values['access'][:4]}.{values['key'][:4]}"
    assert held(cluster, "copy") == {"token": values["token"]}
    assert not person.step(*order).pending
    del cluster.objects["/api/v1/namespaces/a/secrets/copy"]
    person.make(*order)
    assert held(cluster, "copy") == {"token": values["token"]}


def test_keys_that_are_made_anew_get_a_token_of_their_own_and_the_old_copy_is_told(fake: Fake) -> None:
    cluster, person = fake
    cluster.add(secret("copy", token="of.keysthataregone"))
    person.make(KEYS, COPY)
    values = held(cluster, "keys")
    assert values["token"] == f"{values['access'][:4]}.{values['key'][:4]}"
    assert any("must hold the same and do not" in one for one in person.step(KEYS, COPY).blocked)


def test_a_token_of_other_keys_waits_for_a_person(fake: Fake) -> None:
    cluster, person = fake
    cluster.add(secret("keys", access="new access", key="new key", token="old .old"))
    assert person.step(KEYS).blocked == ["a/keys: token is not of its other keys; delete it: it is made anew"]


def test_copies_that_differ_wait_for_a_person(fake: Fake) -> None:
    cluster, person = fake
    cluster.add(secret("user", password="one"))
    cluster.add(secret("copy", password="other"))
    assert (
        "must hold the same and do not" in person.step(declared("user"), declared("copy", copy_of="a/user")).blocked[0]
    )


def test_what_a_team_wrote_into_its_copy_counts_nowhere_else(fake: Fake) -> None:
    """Members of a team write Secrets of its namespace: none of them decides about a login of the platform."""
    cluster, person = fake
    team = person.cluster.teams[0].name
    pair = declared("user"), declared("user", namespace=team, copy_of="a/user")
    cluster.add_namespace(team)
    theirs = secret("user", password="theirs")
    theirs["metadata"]["namespace"] = team
    cluster.add(theirs)
    person.make(*pair)
    assert held(cluster, "user")["password"] != "theirs"
    (why,) = person.step(*pair).blocked
    assert why == f"{team}/user and a/user must hold the same and do not; delete {team}/user"


def test_what_comes_from_elsewhere_is_not_made(fake: Fake) -> None:
    cluster, person = fake
    step = person.step(declared("x", "external"), declared("y", "in-cluster", by="b"))
    assert [(item.state, item.what) for item in step.items] == [(State.LATER, "a/x: comes from outside")]
    assert list(step.act()) == []
    assert not cluster.get("Secret", "y")


def copies(person: Person) -> list[dict[str, Any]]:
    assert person.escrow
    blocks = re.findall(
        r"-----BEGIN.*?FILE-----\n",
        person.escrow.read_text().replace("-----BEGIN AGE ENCRYPTED FILE-----\n", "-----BEGIN\n"),
        re.DOTALL,
    )
    return [
        json.loads(
            decrypt(one.replace("-----BEGIN\n", "-----BEGIN AGE ENCRYPTED FILE-----\n").encode(), [person.identity])
        )
        for one in blocks
    ]


def test_what_data_depends_on_is_copied_before_it_is_made(fake: Fake) -> None:
    cluster, person = fake
    cluster.refuses["POST .*/secrets"] = forbidden("create", "secrets")
    with pytest.raises(UsageError, match="does not let you"):
        person.make(data_key())
    (copy,) = copies(person)
    assert copy["metadata"]["name"] == "key"
    assert cluster.get("ConfigMap", "gen")["data"][KEY] == "being made"
    assert person.escrow
    assert person.escrow.stat().st_mode & 0o777 == 0o600


def test_the_escrow_file_only_grows(fake: Fake) -> None:
    cluster, person = fake
    person.make(data_key(), declared("key", namespace="a", loss="data"))
    assert person.escrow
    before = person.escrow.read_text()
    assert copies(person)[0]["data"] == cluster.get("Secret", "key", "backup")["data"]
    person.make(declared("third", namespace="a", loss="data"))
    assert person.escrow.read_text().startswith(before)
    assert len(copies(person)) == 3
    assert escrow.recorded(person.escrow, person.cluster) == {"backup/key", "a/key", "a/third"}


def test_the_newest_copy_is_of_what_the_cluster_has_where_somebody_was_faster(fake: Fake) -> None:
    cluster, person = fake
    step = person.step(data_key())
    faster = secret("key", password="theirs")
    faster["metadata"]["namespace"] = "backup"
    cluster.add(faster)
    assert list(step.act())[-1] == "backup/key: was there meanwhile, left as it is"
    assert copies(person)[-1]["data"] == cluster.get("Secret", "key", "backup")["data"] == faster["data"]


def keep(person: Person, place: str, value: str) -> None:
    assert person.escrow
    namespace, name = place.split("/")
    one = {"metadata": {"namespace": namespace, "name": name}, "data": {"password": value}}
    escrow.append(person.escrow, person.cluster, one)


def taken(person: Person) -> dict[str, str]:
    """Return the data of `backup/key` as the documented command takes it from the file."""
    text = (ROOT / "docs/live.md").read_text()
    (command,) = re.findall(r"^awk .*?escrow\.age", text, re.MULTILINE | re.DOTALL)
    mine = command.replace("minio/minio-kms of cluster ml50,", f"backup/key of cluster {person.cluster.name},")
    done = subprocess.run(["sh", "-c", mine.replace("escrow.age", str(person.escrow))], capture_output=True, check=True)
    found: dict[str, str] = json.loads(decrypt(done.stdout, [person.identity]))["data"]
    return found


def test_the_documented_command_takes_the_last_copy_of_one_secret(fake: Fake) -> None:
    _, person = fake
    for place, value in (("backup/key", "old"), ("a/key", "other"), ("backup/key", "new"), ("backup/keys", "more")):
        keep(person, place, value)
    assert taken(person) == {"password": "new"}


@pytest.mark.parametrize("kept", [0.2, 0.9, 0.995])
def test_a_copy_whose_writing_was_cut_short_counts_as_none(kept: float, fake: Fake) -> None:
    """As by a disk that was full."""
    _, person = fake
    assert person.escrow
    keep(person, "backup/key", "old")
    before = person.escrow.read_bytes()
    keep(person, "backup/other", "x")
    whole = person.escrow.read_bytes()[len(before) :]
    person.escrow.write_bytes(before + whole[: int(len(whole) * kept)])
    assert escrow.recorded(person.escrow, person.cluster) == {"backup/key"}
    keep(person, "backup/key", "new")
    assert escrow.recorded(person.escrow, person.cluster) == {"backup/key"}
    assert taken(person) == {"password": "new"}
    person.escrow.write_bytes(person.escrow.read_bytes()[:-40])
    assert taken(person) == {"password": "old"}


@pytest.mark.parametrize("lost", ["the copy", "the note", "neither"])
def test_what_was_made_once_is_never_made_anew(lost: str, fake: Fake, tmp_path: Path) -> None:
    cluster, person = fake
    person.make(data_key())
    del cluster.objects["/api/v1/namespaces/backup/secrets/key"]
    if lost == "the copy":
        person.escrow = tmp_path / "other"
    if lost == "the note":
        del cluster.get("ConfigMap", "gen")["data"][KEY]
    (why,) = person.step(data_key()).blocked
    assert "what was made with its old values may exist" in why
    person.give("backup/key/password", b"the old one")
    person.make(data_key())
    assert held(cluster, "key", "backup") == {"password": "the old one"}


def test_interrupted_before_anybody_could_read_it_another_is_made(fake: Fake) -> None:
    """The readers come with the root Application: before that nothing was made with what is in the copy."""
    cluster, person = fake
    cluster.refuses["POST .*/secrets"] = forbidden("create", "secrets")
    with pytest.raises(UsageError):
        person.make(data_key())
    cluster.refuses.clear()
    root = {"metadata": {"name": "root", "namespace": "argocd"}}
    cluster.add({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", **root})
    assert person.step(data_key()).blocked
    del cluster.objects["/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/root"]
    person.make(data_key())
    assert copies(person)[-1]["data"] == cluster.get("Secret", "key", "backup")["data"]
    assert cluster.get("ConfigMap", "gen")["data"][KEY] == "made"


def test_old_values_that_were_given_back_are_not_replaced_after_an_interruption(fake: Fake) -> None:
    cluster, person = fake
    person.give("backup/key/password", b"the old one")
    cluster.refuses["POST .*/secrets"] = forbidden("create", "secrets")
    with pytest.raises(UsageError):
        person.make(data_key())
    cluster.refuses.clear()
    (person.folder / "backup/key/password").unlink()
    assert "what was made with its old values may exist" in person.step(data_key()).blocked[0]


def test_volumes_in_its_namespace_keep_it_from_being_made(fake: Fake) -> None:
    cluster, person = fake
    metadata = {"name": "disk-0", "namespace": "backup"}
    cluster.add({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata})
    assert "its namespace has volumes already (disk-0)" in person.step(data_key()).blocked[0]
    cluster.objects.clear()
    cluster.add({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": {}})
    assert person.step(data_key()).blocked == []
    cluster.get("PersistentVolume", "pv")["spec"] = {"claimRef": {"namespace": "backup", "name": "disk-0"}}
    assert "its namespace has volumes already (pv)" in person.step(data_key()).blocked[0]


def test_without_recipients_or_a_file_it_is_not_made(fake: Fake, a30: Cluster, tmp_path: Path) -> None:
    _, person = fake
    file, person.escrow = person.escrow, None
    assert "--escrow FILE" in person.step(data_key()).blocked[0]
    for wrong in (tmp_path, tmp_path / "no" / "file"):
        person.escrow = wrong
        assert "cannot be written" in person.step(data_key()).blocked[0]
    person.escrow, person.cluster = file, a30
    assert "site.escrow.recipients" in person.step(data_key()).blocked[0]


def test_a_file_that_is_something_else_is_not_added_to(fake: Fake) -> None:
    _, person = fake
    assert person.escrow
    person.escrow.write_text("my notes\n")
    for one in (data_key(), declared("ca", "given", loss="data", known={"password": "x"})):
        assert "is no escrow file" in person.step(one).blocked[0]
    assert person.escrow.read_text() == "my notes\n"


def test_one_that_a_person_made_is_noted(fake: Fake) -> None:
    cluster, person = fake
    found = secret("key", password="x")
    found["metadata"]["namespace"] = "backup"
    cluster.add(found)
    assert person.make(data_key()) == ["backup/key: noted as made"]
    assert cluster.get("ConfigMap", "gen")["data"][KEY] == "made"
    assert not person.step(data_key()).pending
