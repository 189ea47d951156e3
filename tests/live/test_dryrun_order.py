"""The order in which a dry run asks: that of waves."""

import pytest

from generator.build.objects import ROOT, Built, Object
from generator.live.dry_run.dry_run import in_order


def one(kind: str, name: str, component: str = "", wave: object = None) -> Object:
    annotations = {} if wave is None else {"argocd.argoproj.io/sync-wave": wave}
    metadata = {"name": name, "annotations": annotations}
    return Object({"apiVersion": "v1", "kind": kind, "metadata": metadata}, component, "")


def application(component: str, wave: str) -> Object:
    return one("Application", component, ROOT, wave)


def names(*objects: Object) -> list[str]:
    return [found.name for found in in_order(Built(name="x", cluster=None, objects=objects))]


def test_applications_come_in_their_waves_and_first_themselves() -> None:
    late, early = application("late", "10"), application("early", "-2")
    found = names(one("ConfigMap", "b", "late"), one("ConfigMap", "a", "early"), late, early)
    assert found == ["early", "late", "a", "b"]


def test_within_an_application_an_objects_own_wave_decides_then_its_kind() -> None:
    objects = (
        one("Pod", "c"),
        one("CustomResourceDefinition", "b"),
        one("Namespace", "a"),
        one("Pod", "d", wave="1"),
        one("Pod", "first", wave="-1"),
    )
    assert names(*objects) == ["first", "a", "b", "c", "d"]


@pytest.mark.parametrize("wave", ["soon", "", "1.5", "²", "--1", 7, None, [1], "9" * 5000])
def test_a_wave_that_is_no_number_is_none(wave: object) -> None:
    assert set(names(one("Pod", "a", wave=wave), one("Pod", "b", wave="0"))) == {"a", "b"}
    applications = one("Application", "a", ROOT, wave), application("b", "-1")
    assert names(*applications, one("Pod", "c", "a"), one("Pod", "d", "b"))[2:] == ["d", "c"]
