"""`site.images`: where the mirror has what upstream names otherwise."""


def at_mirror(name: str, mirror: str | None) -> str:
    """Return where an image is pulled from by its upstream name, registry included, or all those whose names begin so.
    It stays where there is no mirror, where it lies below it already, and where its registry has a port: that cannot
    stand in a path.
    """
    if not mirror or is_below(name, mirror) or has_port(name):
        return name
    return f"{mirror}/{name}"


def has_port(name: str) -> bool:
    """Tell whether the registry of a name has a port."""
    return ":" in name.partition("/")[0]


def is_below(reference: str, registry: str | None) -> bool:
    """Tell whether an image lies in a registry, or below a path in it; in none it never does."""
    return bool(registry) and reference.startswith(f"{registry}/")
