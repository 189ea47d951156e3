"""CRDs from folders that the user names."""

from pathlib import Path

import pytest
import yaml
from manifests import built, manifest
from msgspec import structs

from generator.build.crds import with_definitions
from generator.components.component import Manifest
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.secret_store import SecretStore
from generator.rules.engine import RULES, unjudged

WIDGET = manifest("Widget", "example.org/v1", spec={"sise": 1})


def crd(kind: str = "Widget", versions: tuple[str, ...] = ("v1",), field: str = "size") -> Manifest:
    spec = {"type": "object", "properties": {field: {"type": "integer"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    served = [{"name": name, "served": True, "storage": True, "schema": schema} for name in versions]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.example.org"},
        "spec": {
            "group": "example.org",
            "names": {"kind": kind, "plural": f"{kind.lower()}s"},
            "scope": "Namespaced",
            "versions": served,
        },
    }


def write(folder: Path, name: str, *content: Manifest) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(yaml.safe_dump_all(content))
    return folder


def test_objects_are_judged_by_a_crd_at_hand(tmp_path: Path) -> None:
    alone = built(WIDGET)
    assert [one.code for one in RULES["GEN-API-004"].findings(alone)] == ["GEN-API-004"]
    write(tmp_path, "a.yaml", crd("Gadget"), crd())
    found = with_definitions(alone, [tmp_path])
    assert list(RULES["GEN-API-004"].findings(found)) == []
    assert [one.fix for one in RULES["GEN-API-001"].findings(found)] == ["write `size`"]
    assert [one["spec"]["names"]["kind"] for one in found.definitions] == ["Widget"]


def test_what_an_operator_defines_later_is_not_judged_and_no_finding() -> None:
    policy = manifest("CiliumNetworkPolicy", "cilium.io/v2", spec={"nonsense": 1})
    with_cilium, without = built(policy, policy, component="cilium"), built(policy)
    assert list(RULES["GEN-API-004"].findings(with_cilium)) == []
    told = "the fields of 2 objects of cilium.io, whose CRDs cilium makes when it starts; --schemas DIR judges them"
    assert told in unjudged(with_cilium)
    assert [one.code for one in RULES["GEN-API-004"].findings(without)] == ["GEN-API-004"]
    assert not any("cilium" in one for one in unjudged(without))


def test_what_the_site_s_own_operator_defines_is_not_judged_and_no_finding(ml50: Cluster) -> None:
    """No `gen vendor` would bring its CRD: `check --rendered --strict` would never pass."""
    secret = manifest("ExternalSecret", "external-secrets.io/v1", spec={"nonsense": 1})
    store = structs.replace(ml50.site, secrets=SecretStore(by="external-secrets", store="vault"))
    stored = built(secret, cluster=structs.replace(ml50, site=store))
    assert list(RULES["GEN-API-004"].findings(stored)) == []
    told = "the fields of 1 object of external-secrets.io, whose CRDs come with the site's own operator"
    assert any(one.startswith(told) for one in unjudged(stored)), [*unjudged(stored)]
    assert [one.code for one in RULES["GEN-API-004"].findings(built(secret, cluster=ml50))] == ["GEN-API-004"]


def test_the_first_folder_wins(tmp_path: Path) -> None:
    first, second = write(tmp_path / "1", "a.yaml", crd(field="sise")), write(tmp_path / "2", "a.yaml", crd())
    assert list(RULES["GEN-API-001"].findings(with_definitions(built(WIDGET), [first, second]))) == []
    assert len(list(RULES["GEN-API-001"].findings(with_definitions(built(WIDGET), [second, first])))) == 1


def test_a_crd_that_serves_the_version_wins_over_an_earlier_one(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", crd(versions=("v0",)))
    write(tmp_path, "b.yaml", crd(versions=("v0", "v1")))
    assert list(RULES["GEN-API-003"].findings(with_definitions(built(WIDGET), [tmp_path]))) == []
    (tmp_path / "b.yaml").unlink()
    (found,) = RULES["GEN-API-003"].findings(with_definitions(built(WIDGET), [tmp_path]))
    assert found.fix == "write it in example.org/v0"


def test_a_crd_that_is_applied_wins_over_one_at_hand(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", crd(field="sise"))
    both = with_definitions(built(WIDGET, crd()), [tmp_path])
    assert both.definitions == ()
    assert len(list(RULES["GEN-API-001"].findings(both))) == 1


def test_templates_and_other_files_are_passed_over(tmp_path: Path) -> None:
    text = "kind: CustomResourceDefinition\ngroup: example.org\nWidget: {{ x"
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.txt").write_text(yaml.safe_dump(crd()))
    assert with_definitions(built(WIDGET), [tmp_path]).definitions == ()


def test_a_folder_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--schemas .*absent: there is no such"):
        with_definitions(built(WIDGET), [tmp_path / "absent"])


@pytest.mark.parametrize(
    "schema",
    [None, {}, [], {"type": 5}, {"type": "object", "properties": 7}, {"pattern": "("}, {"$ref": "#/nowhere"}],
)
def test_a_crd_whose_schema_is_none_never_raises(schema: object) -> None:
    wrong = crd()
    wrong["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    for rule in RULES.values():
        list(rule.findings(built(WIDGET, wrong)))
