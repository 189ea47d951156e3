"""Who wrote which field, by managed fields as API servers write them."""

from typing import Any

from generator.live.drift.managers import added, writer_of

Object = dict[str, Any]


def entry(manager: str, fields: Object, time: str = "2026-01-01T00:00:00Z", **more: str) -> Object:
    operation = "Apply" if manager == "argocd-controller" else "Update"
    return {"manager": manager, "operation": operation, "time": time, "fieldsV1": fields, **more}


def service(*entries: Object) -> Object:
    ports = [{"name": "web", "port": 80, "protocol": "TCP"}, {"name": "dns", "port": 53, "protocol": "UDP"}]
    metadata = {"name": "x", "labels": {"a": "b"}, "finalizers": ["keep"], "managedFields": [*entries]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports, "type": "ClusterIP"}}


WEB, DNS = 'k:{"port":80,"protocol":"TCP"}', 'k:{"port":53,"protocol":"UDP"}'
OURS = entry("argocd-controller", {"f:spec": {"f:type": {}, "f:ports": {WEB: {".": {}, "f:port": {}, "f:name": {}}}}})


def by_hand(fields: Object, manager: str = "kubectl-edit") -> Object:
    return entry(manager, fields, "2026-02-02T00:00:00Z")


def test_a_field_names_its_last_writer() -> None:
    one = service(OURS, by_hand({"f:spec": {"f:type": {}}}), entry("old", {"f:spec": {"f:type": {}}}))
    found = writer_of(one, ("spec", "type"))
    assert found
    assert (found.words, found.hand) == ("kubectl edit, 2026-02-02T00:00:00Z", True)


def test_items_of_lists_are_told_by_their_keys() -> None:
    one = service(OURS, by_hand({"f:spec": {"f:ports": {DNS: {"f:port": {}}}}}))
    mine, theirs = (
        writer_of(one, ("spec", "ports", "[80]", "port")),
        writer_of(one, ("spec", "ports", "[53/UDP]", "port")),
    )
    assert mine
    assert theirs
    assert (mine.manager, theirs.manager) == ("argocd-controller", "kubectl-edit")


def test_what_was_taken_out_points_to_the_last_hand() -> None:
    one = service(OURS, entry("kueue", {"f:spec": {"f:a": {}}}, "2026-03-03T00:00:00Z"), by_hand({"f:metadata": {}}))
    found = writer_of(one, ("spec", "selector"))
    assert found
    assert found.manager == "kubectl-edit"
    assert writer_of(service(), ("spec", "type")) is None


def test_statuses_say_nothing_about_who_wrote_what() -> None:
    status = entry("kubectl-edit", {"f:spec": {"f:type": {}}}, subresource="status")
    assert writer_of(service(status), ("spec", "type")) is None


def test_what_others_added_is_told_with_its_value() -> None:
    added_fields = {
        "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {".": {}, 'v:"keep"': {}}},
        "f:spec": {"f:type": {}, "f:ports": {DNS: {".": {}, "f:port": {}}}},
    }
    applied = service(OURS)
    found = {one.steps: one.value for one in added(service(OURS, by_hand(added_fields)), applied)}
    assert found == {
        ("metadata", "labels", "a"): "b",
        ("metadata", "finalizers", "[keep]"): "keep",
        ("spec", "ports", "[53/UDP]", "port"): 53,
    }


def test_what_argo_cd_would_take_back_is_no_addition() -> None:
    """It owns what Git names, whoever wrote it last."""
    live = service(by_hand({"f:spec": {"f:type": {}}}))
    assert list(added(live, service(OURS))) == []
    assert [one.steps for one in added(live, service())] == [("spec", "type")]


def test_programs_are_told_from_people() -> None:
    live = service(by_hand({"f:spec": {"f:type": {}}}, "kueue"))
    (found,) = added(live, service())
    assert (found.writer.hand, found.writer.words) == (False, "the program kueue, 2026-02-02T00:00:00Z")
