"""What Applications take from where gen does not build it: that it differs is all that can be told."""

from collections.abc import Collection, Iterator
from posixpath import normpath
from typing import Any

from generator.build.difference import field_changes
from generator.build.objects import ROOT, Built, Object
from generator.model.change import ABSENT, ELSEWHERE, FieldChange, ObjectChange
from generator.model.fields import dig, mapping, sequence
from generator.repository.folders import within


def elsewhere_changes(
    before: Built, after: Built, paths: Collection[str], plain: Collection[str]
) -> Iterator[ObjectChange]:
    """Yield what kustomizations want from the network, where that differs; and what Applications hold outside of their
    cluster's overlays, where one of the `paths`, which are the files that differ, lies there. Of the Applications that
    are `plain` the objects were compared.
    """
    old, new = _fetched(before), _fetched(after)
    for key in sorted(old.keys() | new.keys()):
        if fields := tuple(field_changes(old.get(key, {}), new.get(key, {}))):
            application, file, _, address = key
            yield _change(address, application, file, fields)
    for name, place in sorted(one for one in {*_held(before), *_held(after)} if one[0] not in plain):
        if files := sorted(path for path in paths if place == "." or within(path, [place])):
            yield _change(place, name, files[0], tuple(FieldChange((file,), ABSENT, "differs") for file in files))


def _change(address: str, application: str, file: str, fields: tuple[FieldChange, ...]) -> ObjectChange:
    return ObjectChange(
        on="changed", kind=ELSEWHERE, namespace="", name=address, application=application, file=file, fields=fields
    )


def _fetched(built: Built) -> dict[tuple[str, str, str, str], dict[str, Any]]:
    return {(each.component, each.file, each.field, each.address): {each.field: each.said} for each in built.elsewhere}


def _held(built: Built) -> Iterator[tuple[str, str]]:
    """Yield the Applications that hold folders which are not built, each with the folder."""
    for one in built.objects:
        if one.kind == "Application":
            source, several = (dig(one.spec, key) for key in ("source", "sources"))
            yield from ((one.name, place) for place in _places([source]) if not _is_built(built, one, place))
            yield from ((one.name, place) for place in _places(sequence(several)))


def _places(sources: list[Any]) -> list[str]:
    named = (mapping(source).get("path") for source in sources)
    return [normpath(place) for place in named if isinstance(place, str)]


def _is_built(built: Built, application: Object, place: str) -> bool:
    """Tell whether it is built where its files differ: not what an Application brings that another one holds."""
    return application.component == ROOT and place.startswith(f"overlays/{built.name}/")


def moved_folders(before: Built, after: Built) -> set[str]:
    """Return the folders that belong to another Application than before, or to one that is new, gone, or for another
    namespace, where what names none ends up.
    """
    old, new = ({*_folders(built)} for built in (before, after))
    return {folder for _, folder in old ^ new}


def _folders(built: Built) -> Iterator[tuple[tuple[str, str], str]]:
    for one in built.of("Application"):
        holder = (one.name, str(dig(one.spec, "destination", "namespace")))
        yield from ((holder, place) for place in _places([dig(one.spec, "source")]))
