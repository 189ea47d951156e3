"""The step that makes Secrets: what is made, what is kept, and where it stops."""

import shutil
from pathlib import Path

import pytest
from secretsstep import Admin
from test_volumes_elsewhere import away

from generator.components.component import Secret
from generator.model.cluster import Cluster


def test_the_secrets_commands_make_every_secret(tmp_path: Path, ml50: Cluster, a30: Cluster) -> None:
    for cluster in (ml50, a30):
        place = tmp_path / cluster.name
        place.mkdir()
        admin = Admin(place, cluster)
        done = admin.run()
        assert done.stderr == ""
        for secret in admin.secrets:
            if secret.source in ("given", "generated"):
                for key in secret.keys:
                    value = (admin.cluster / secret.namespace / secret.name / key).read_text()
                    assert value == secret.known.get(key, value)
                    assert secret.source == "given" or len(value) in (44, 48) or key in secret.computed
            for key, one in secret.computed.items():
                held = {file.name: file.read_bytes() for file in _origin(admin, secret).iterdir()}
                assert (admin.cluster / secret.namespace / secret.name / key).read_bytes() == one.value(
                    *(held[name] for name in one.of)
                )


def test_a_person_gives_some_values_and_chance_makes_the_others(tmp_path: Path) -> None:
    admin = Admin(tmp_path, away())
    assert admin.run().stderr == ""
    origin = admin.cluster / "volsync-system" / "backup-target-vision-home"
    assert (origin / "AWS_SECRET_ACCESS_KEY").read_text() == "x"
    assert len((origin / "RESTIC_PASSWORD").read_text()) == 48
    for space in ("volsync-system", "vision"):
        copy = admin.cluster / space / "volume-backup-vision-home.offsite"
        for file in origin.iterdir():
            assert (copy / file.name).read_text() == file.read_text()
        assert (copy / "RESTIC_REPOSITORY").read_text().startswith("s3:https://")


def _origin(admin: Admin, secret: Secret) -> Path:
    return admin.cluster / (secret.copy_of or f"{secret.namespace}/{secret.name}")


def test_the_secrets_commands_change_nothing_of_the_users_shell(tmp_path: Path, a30: Cluster) -> None:
    mask, place = Admin(tmp_path, a30).run().stdout.splitlines()[-2:]
    assert (mask, place) == ("0022", str(tmp_path))


def test_what_the_cluster_has_is_taken_on_a_machine_without_the_folder(tmp_path: Path, ml50: Cluster) -> None:
    admin = Admin(tmp_path, ml50)
    assert admin.run().returncode == 0
    original, copied = (admin.cluster / space / "minio-user-backup-writer" for space in ("minio", "rook-ceph"))
    values = {file.name: file.read_text() for file in original.iterdir()}
    shutil.rmtree(copied)
    shutil.rmtree(admin.folder)
    admin.give()
    admin.run()
    assert {file.name: file.read_text() for file in original.iterdir()} == values
    assert {file.name: file.read_text() for file in copied.iterdir()} == values
    kept = admin.folder / "minio/minio-user-backup-writer"
    assert {file.name: file.read_text() for file in kept.iterdir()} == values


def test_no_value_is_made_while_the_cluster_does_not_answer(tmp_path: Path, ml50: Cluster) -> None:
    admin = Admin(tmp_path, ml50)
    admin.cluster.mkdir()
    (admin.cluster / "away").touch()
    admin.run()
    assert not list((admin.folder / "minio").glob("*/*"))


def test_what_is_kept_is_used_for_a_new_cluster(tmp_path: Path, ml50: Cluster) -> None:
    admin = Admin(tmp_path, ml50)
    kept = admin.folder / "minio/minio-root/rootPassword"
    kept.parent.mkdir(parents=True)
    kept.write_text("kept")
    assert admin.run().returncode == 0
    assert (admin.cluster / "minio/minio-root/rootPassword").read_text() == "kept"


def test_again_it_makes_what_is_missing_and_says_no_more(tmp_path: Path, ml50: Cluster) -> None:
    admin = Admin(tmp_path, ml50)
    assert admin.run().returncode == 0
    before = admin.values()
    assert before.keys() == admin.wanted()
    shutil.rmtree(admin.cluster / "zabbix/zabbix-admin")
    done = admin.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert admin.values() == before
    assert "secret/zabbix-database is there" in done.stdout
    assert "secret/zabbix-admin is there" not in done.stdout


# Generated, given, and known from the cluster file.
@pytest.mark.parametrize("key", ["minio/minio-root/rootPassword", "cert-manager/site-ca/tls.key"])
def test_where_file_and_cluster_differ_it_stops_and_both_stay(tmp_path: Path, ml50: Cluster, key: str) -> None:
    admin = Admin(tmp_path, ml50)
    assert admin.run().returncode == 0
    before = admin.values()
    (admin.folder / key).write_text("another")
    shutil.rmtree(admin.cluster / "argocd")
    done = admin.run()
    space, name, last = key.split("/")
    assert done.returncode == 1
    assert done.stderr == f"Stopped: {last} of Secret {space}/{name} is not what {admin.folder}/{key} holds\n"
    assert (admin.folder / key).read_text() == "another"
    assert admin.values() == {path: value for path, value in before.items() if not path.startswith("argocd/")}


def test_a_copy_that_differs_from_the_first_stops(tmp_path: Path, ml50: Cluster) -> None:
    admin = Admin(tmp_path, ml50)
    assert admin.run().returncode == 0
    copy = admin.cluster / "rook-ceph/minio-user-backup-writer/secretKey"
    copy.write_text("another")
    done = admin.run()
    assert (done.returncode, copy.read_text()) == (1, "another")
    assert "secretKey of Secret rook-ceph/minio-user-backup-writer is not what" in done.stderr


def test_a_secret_that_lacks_a_key_stops(tmp_path: Path, ml50: Cluster) -> None:
    admin = Admin(tmp_path, ml50)
    assert admin.run().returncode == 0
    (admin.cluster / "argocd/repository/password").unlink()
    done = admin.run()
    assert (done.returncode, done.stderr) == (1, "Stopped: Secret argocd/repository has no password\n")
