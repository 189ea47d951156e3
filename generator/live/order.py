"""The order in which Argo CD would apply what is built."""

import re

from generator.build.objects import ROOT, Built, Object
from generator.components.common import SYNC_WAVE
from generator.model.fields import dig
from generator.rules.providers import waves

_FIRST = {"Namespace": 0, "CustomResourceDefinition": 1}


def in_order(built: Built) -> list[Object]:
    """Return the objects by the wave of their Application, then their own wave, then namespaces and definitions first.
    The Applications themselves come before what they hold. Within that the order stays.
    """
    of_application = {ROOT: -(2**31), **waves(built)}
    return sorted(
        built.objects, key=lambda one: (of_application.get(one.component, 0), _wave(one), _FIRST.get(one.kind, 2))
    )


def _wave(one: Object) -> int:
    wave = dig(one.manifest, "metadata", "annotations", SYNC_WAVE)
    return int(wave) if isinstance(wave, str) and re.fullmatch("-?[0-9]{1,9}", wave) else 0
