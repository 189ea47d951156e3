"""What `gen vendor` lists of a change: what runs before what only reads otherwise, and no more than fits a screen."""

from generator.cli.vendor import LISTED, _changed
from generator.upstream.changes import Changes
from generator.upstream.vendor import Vendored

LABELS = ("metadata.labels",)
CHANGED = {
    **{f"ConfigMap shop/a{number:02}": LABELS for number in range(12)},
    "CustomResourceDefinition things (apiextensions.k8s.io)": ("spec.versions[0].schema",),
    "Deployment shop/z (apps)": ("metadata.labels", "spec.template.spec.containers[0].image"),
    "Service shop/y": ("spec.ports",),
}


def listed(changed: dict[str, tuple[str, ...]]) -> list[str]:
    changes = Changes(changed=changed, images=("x.example.org/a:2",), images_gone=("x.example.org/a:1",))
    did = Vendored(
        cluster="one",
        component="toy",
        state="stale",
        objects=15,
        definitions=1,
        pulled=1,
        seconds=1.0,
        changes=changes,
    )
    return list(_changed(did))


def test_images_and_what_runs_come_first_and_labels_last() -> None:
    lines = listed(CHANGED)
    assert lines[:2] == ["+ image x.example.org/a:2", "- image x.example.org/a:1"]
    assert lines[2] == "~ Deployment shop/z (apps): spec.template.spec.containers[0].image, metadata.labels"
    assert [line.split()[1] for line in lines[3:6]] == ["Service", "CustomResourceDefinition", "ConfigMap"]
    assert len(lines) == 2 + len(CHANGED)


def test_the_rest_is_folded_and_counted() -> None:
    many = CHANGED | {f"Secret shop/b{number:02}": LABELS for number in range(10)}
    lines = listed(many)
    assert len(lines) == LISTED + 1
    assert lines[-1] == f"... and {2 + len(many) - LISTED} more (all of them: --output json)"
    assert any(line.startswith("~ Deployment") for line in lines)
    assert listed({"Pod shop/a": tuple(f"spec.{key}" for key in "abcdef")})[2].endswith("spec.d and 2 more")
