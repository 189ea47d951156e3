"""Findings that are accepted: what `waivers` in the cluster file may say."""

from typing import Annotated

from msgspec import Meta

from generator.model.base import Line, Section


class Waiver(Section, frozen=True, kw_only=True):
    """A finding on rendered objects, or a warning of this file, that is accepted for a while: its `code`, on one object
    (`Kind namespace/name`, or `Kind name` where there is no namespace), at one place of the file (`nodes.gpu-1`) or on
    all, why, who answers for it, and the day it ends.
    """

    code: Annotated[str, Meta(pattern=r"^GEN-[A-Z0-9]+-[0-9]{3}$(?!\n)")]
    on: Line | None = None
    reason: Annotated[str, Meta(pattern=r"\S.{8,}\S", description="a sentence: what makes it right for now")]
    owner: Annotated[str, Meta(pattern=r"\S", description="a person or a team")]
    expires: Annotated[
        str, Meta(pattern=r"^20[0-9]{2}-[01][0-9]-[0-3][0-9]$(?!\n)", description='a day, as in "2027-03-31"')
    ]
