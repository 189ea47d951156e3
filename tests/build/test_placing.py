"""In which namespace objects end up that do not say it."""

from typing import Any

from generator.build.objects import ROOT, Built, Object
from generator.build.placing import placed

CRD = "apiextensions.k8s.io/v1"


def thing(version: str, kind: str, namespace: str | None = None, component: str = "web", **more: Any) -> Object:
    metadata = {"name": "a", **({"namespace": namespace} if namespace else {})}
    return Object({"apiVersion": version, "kind": kind, "metadata": metadata, **more}, component, "a.yaml")


def application(namespace: str | None, destination: str | None, name: str = "web") -> Object:
    spec = {"destination": {"namespace": destination} if destination else {}}
    manifest = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "spec": spec}
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return Object({**manifest, "metadata": metadata}, ROOT, "app.yaml")


def spaces(*objects: Object) -> list[str]:
    """Return where objects end up, but for the Application that holds them."""
    return [one.namespace for one in placed(Built(name="one", cluster=None, objects=objects)).objects[1:]]


def test_what_names_no_namespace_is_in_its_applications() -> None:
    holder = application("argocd", "shop")
    assert spaces(holder, thing("v1", "ConfigMap"), thing("v1", "Secret", "other")) == ["shop", "other"]
    assert spaces(holder, thing("v1", "ConfigMap", component="another")) == [""]
    assert spaces(application("argocd", None), thing("v1", "ConfigMap")) == [""]


def test_what_has_no_namespace_gets_none() -> None:
    holder = application("argocd", "shop")
    role = "rbac.authorization.k8s.io/v1"
    assert spaces(holder, thing(role, "ClusterRole"), thing(role, "ClusterRole", "left")) == ["", ""]


def test_a_custom_kind_is_placed_where_its_definition_is_at_hand() -> None:
    holder, one = application("argocd", "shop"), thing("example.org/v1", "Thing")
    names = {"kind": "Thing", "plural": "things"}
    spec = {"group": "example.org", "scope": "Namespaced", "names": names}
    assert spaces(holder, one) == [""]
    assert spaces(holder, thing(CRD, "CustomResourceDefinition", spec=spec), one) == ["", "shop"]


def test_an_application_is_where_the_others_are() -> None:
    assert spaces(application("gitops", "shop"), application(None, "shop", "other")) == ["gitops"]
