"""Parts of objects that several components make alike."""

from msgspec import structs

from generator.components.common import exposed
from generator.components.parts import pod_security
from generator.model.cluster import Cluster


def test_nothing_is_reached_without_a_name_or_without_an_ingress_controller(ml50: Cluster) -> None:
    assert exposed(ml50, "x.example.org")
    assert not exposed(ml50, None)
    assert not exposed(structs.replace(ml50, site=structs.replace(ml50.site, ingress_class=None)), "x.example.org")


def test_a_pod_runs_as_the_user_it_is_told_and_never_as_root() -> None:
    found = pod_security(7, fsGroup=8)
    assert (found["runAsUser"], found["fsGroup"], found["runAsNonRoot"]) == (7, 8, True)
    assert found["seccompProfile"] == {"type": "RuntimeDefault"}
