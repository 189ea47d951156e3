"""In which namespace objects end up that do not say it: the one that their Application is for."""

from collections.abc import Iterator, Mapping

from msgspec import structs

from generator.build.kinds import Kinds
from generator.build.objects import ROOT, Built, Object
from generator.model.fields import dig


def placed(built: Built) -> Built:
    """Return what was built as Argo CD applies it: with the namespace of the Application's destination where an object
    names none, and without any where its kind has none, as the API server keeps it. Objects of kinds that nobody here
    knows stay as they are.
    """
    return structs.replace(built, objects=tuple(_placed(built)))


def _placed(built: Built) -> Iterator[Object]:
    destinations = _destinations(built)
    kinds = Kinds.of(built)
    for one in built.objects:
        lives = one.component == ROOT or kinds.namespaced(one.version, one.kind)
        if lives is False and one.namespace:
            yield _in(one, "")
        elif lives and not one.namespace and (space := destinations.get(one.component)):
            yield _in(one, space)
        else:
            yield one


def _destinations(built: Built) -> Mapping[str, str]:
    applications = [one for one in built.of("Application") if one.component == ROOT]
    found = {one.name: dig(one.spec, "destination", "namespace") for one in applications}
    # The Application that holds the others is applied by hand, and they are where Argo CD looks for them: together.
    found[ROOT] = next((one.namespace for one in applications if one.namespace), None)
    return {name: space for name, space in found.items() if isinstance(space, str)}


def _in(one: Object, namespace: str) -> Object:
    metadata = {key: value for key, value in one.manifest["metadata"].items() if key != "namespace"}
    metadata |= {"namespace": namespace} if namespace else {}
    return structs.replace(one, manifest={**one.manifest, "metadata": metadata})
