"""Leaf switches with their ports."""

from generator.review.markup import Html, tag
from generator.review.pictures.svg import WIDTH, At, box, picture
from generator.review.state import Leaf

_ACROSS, _SIDE, _STEP = 20, 14, 17


def leaf(one: Leaf) -> Html:
    """Return one switch in words and as a picture."""
    return tag("figure", tag("figcaption", tag("strong", one.name), f" {caption(one)}"), ports(one))


def ports(one: Leaf) -> Html:
    """Draw the ports of one switch: with a cable, uplinks, free. Which ports the uplinks take nobody has said: they are
    drawn as the last ones.
    """
    idle = [number for number in range(1, one.ports + 1) if number not in one.used]
    uplinks = {*idle[max(0, len(idle) - one.uplinks) :]} if one.uplinks else set()
    drawn = [_port(one, number, number in uplinks) for number in range(1, one.ports + 1)]
    height = (one.ports + _ACROSS - 1) // _ACROSS * _STEP
    return picture(WIDTH, height, f"{one.name}: {len(one.used)} ports used, {one.free} free", drawn)


def caption(one: Leaf) -> str:
    """Return what people ask of a switch."""
    where = f"{one.rack}, " if one.rack else ""
    rail = f", rail {one.rail}" if one.rail else ""
    return f"{where}{len(one.used)} used, {one.free} free, {one.uplinks} uplinks{rail}"


def _port(one: Leaf, number: int, uplink: bool) -> Html:  # noqa: FBT001 - what it is
    row, column = divmod(number - 1, _ACROSS)
    at = At(column * _STEP, row * _STEP, _SIDE, _SIDE)
    if number in one.used:
        return box(at, "fill-gpu", f"{number}: {one.used[number]}")
    return box(at, "fill-mild", f"{number}: uplink") if uplink else box(at, "fill-free", f"{number}: free")
