"""Racks with their nodes."""

from generator.model.nodes import Machine
from generator.model.plural import plural
from generator.review.markup import Html, tag
from generator.review.pictures.svg import At, box, picture, words
from generator.review.state import Rack

WIDTH = 166
_HIGH = 18


def rack(one: Rack) -> Html:
    """Return one rack with what is in it, in words and as a picture."""
    gpus = sum(machine.gpus for machine in one.machines)
    counted = plural(len(one.machines), "node") + (f", {plural(gpus, 'GPU')}" if gpus else "")
    return tag("figure", tag("figcaption", tag("strong", one.name), f" {counted}"), nodes(one), class_="rack")


def nodes(one: Rack) -> Html:
    """Draw the nodes of a rack, each with what it is for."""
    drawn = [_node(machine, 2 + number * (_HIGH + 2)) for number, machine in enumerate(one.machines)]
    names = ", ".join(machine.name for machine in one.machines)
    return picture(WIDTH, 2 + len(drawn) * (_HIGH + 2), f"{one.name}: {names}", drawn)


def kind(machine: Machine) -> str:
    """Return the class that colours a node."""
    if machine.role == "control-plane":
        return "fill-control"
    if machine.gpus:
        return "fill-gpu"
    return "fill-store" if machine.hardware.disks else "fill-cpu"


def note(machine: Machine) -> str:
    """Return what a node is for, in a word or two."""
    if machine.gpus:
        return plural(machine.gpus, "GPU")
    if machine.role == "control-plane":
        return "control"
    disks = sum(disk.count for disk in machine.hardware.disks)
    return plural(disks, "disk") if disks else "CPU"


def _node(machine: Machine, top: float) -> Html:
    about = f"{machine.name}: {machine.pool}, {machine.address}"
    return tag(
        "g",
        tag("title", about),
        box(At(0, top, WIDTH, _HIGH), "frame"),
        box(At(0, top, 5, _HIGH), kind(machine)),
        words(At(10, top + 13, 92), machine.name),
        words(At(106, top + 13, 58), note(machine), "soft"),
    )
