"""Racks with their nodes."""

from generator.model.nodes import Machine
from generator.model.plural import plural
from generator.review.markup import Html, tag
from generator.review.pictures.svg import At, box, picture, words
from generator.review.state import Rack

WIDTH = 166
_HIGH = 18


def rack(one: Rack) -> Html:
    """Draw one rack: each node with what it is for."""
    nodes = [_node(machine, 2 + number * (_HIGH + 2)) for number, machine in enumerate(one.machines)]
    height = 2 + len(nodes) * (_HIGH + 2)
    drawn = picture(WIDTH, height, f"{one.name}: {', '.join(machine.name for machine in one.machines)}", nodes)
    gpus = sum(machine.gpus for machine in one.machines)
    counted = plural(len(one.machines), "node") + (f", {plural(gpus, 'GPU')}" if gpus else "")
    return tag("figure", tag("figcaption", tag("strong", one.name), f" {counted}"), drawn, class_="rack")


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
