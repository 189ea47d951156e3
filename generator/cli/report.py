"""`gen report`."""

from pathlib import Path

import click

from generator.cli.options import CLUSTER, ROOT, output_as, root_of
from generator.cli.output import mend_first, without_accepted
from generator.cli.terminal import say, say_all, say_json
from generator.components import compose
from generator.errors import UsageError
from generator.repository.cluster_files import Loaded, load
from generator.repository.vendored import locked, on_disk
from generator.review.state import State, UsedImage
from generator.upstream.cluster_images import cluster_images


@click.command("report")
@CLUSTER
@ROOT
@output_as("text", "json", "html", help="How to tell it; html: as a page.")
def command(clusters: tuple[str, ...], directory: Path, output: str) -> int:
    """Show a cluster as it is: racks, leaf switches, storage, quotas, waves, Secrets, images, findings, waivers.

    As html one page with pictures, which needs nothing else: `gen report --cluster NAME --output html > NAME.html`.
    Works offline; needs Kustomize (`gen doctor`), for the images.
    """
    root = root_of(directory)
    loaded = load(root, clusters)
    if any(one.wrong for one in loaded):
        return mend_first(loaded)
    if output == "html" and len(loaded) > 1:
        raise UsageError(f"a page is of one cluster: --cluster {loaded[0].name}")
    found = [_state(root, one) for one in loaded]
    if output == "html":
        from generator.review.html_report import report_page  # noqa: PLC0415 - only when it is asked for

        say(report_page(found[0]), nl=False)
    elif output == "json":
        say_json({"clusters": [one.data() for one in found]})
    else:
        _text(found)
    return 0


def _text(found: list[State]) -> None:
    from generator.review.state_text import lines  # noqa: PLC0415 - only when it is asked for

    for one in found:
        say_all(lines(one))


def _state(root: Path, one: Loaded) -> State:
    cluster = one.cluster
    assert cluster is not None  # noqa: S101 - nothing is wrong with it
    seen = cluster_images(root, cluster, locked(on_disk(root)).images)
    images = [
        UsedImage(image.name, image.digest, tuple(dict.fromkeys(use.component for use in image.uses)))
        for image in seen.images
    ]
    return State(
        cluster=cluster,
        components=compose(cluster),
        findings=(*without_accepted(one).findings, *seen.findings),
        images=tuple(images),
        unseen=seen.unvendored,
    )
