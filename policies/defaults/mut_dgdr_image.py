"""DYND04: the image that profiles a request."""

from collections.abc import Iterator

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import on_1_5
from dynamo_webhooks.policies.edit import Edit
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.policies.rule import DGDR, default
from dynamo_webhooks.policies.semver import canonical

_REPOSITORY = "nvcr.io/nvidia/ai-dynamo/dynamo-planner"


@default("DYND04", where={DGDR: ""}, on=(CREATE,), needs=("operatorVersion",))
def mut_dgdr_image(at: At) -> Iterator[Edit]:
    """A request without an image is profiled by the one that belongs to the operator's version.

    Why
        Profiler and operator are released together. Build metadata of the version (`+...`) is no part of the tag, which can't hold a plus.
        From line 1.5 of the operator on, an admin may name another image with the fact `dgdrDefaultImage`.

    Before
        ```yaml
        # facts: {operatorVersion: 1.2.0+build.7}
        spec: {model: m}
        ```
        ```yaml
        # facts: {operatorVersion: 1.5.0, dgdrDefaultImage: "example/planner:1.5.0"}
        spec: {model: m}
        ```

    After
        ```yaml
        spec: {model: m, image: "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.2.0"}
        ```
        ```yaml
        spec: {model: m, image: "example/planner:1.5.0"}
        ```
    """
    yield from _image(at, keep_build=False)


@mut_dgdr_image.in_1_2("G-27", because="a version with build metadata makes an invalid image tag")
def mut_dgdr_image_in_1_2(at: At) -> Iterator[Edit]:
    """The version goes into the tag as it is."""
    yield from _image(at, keep_build=True)


def _image(at: At, *, keep_build: bool) -> Iterator[Edit]:
    if at.get("spec.image"):
        return
    chosen = at.review.facts.dgdrDefaultImage
    if on_1_5(at.review) and isinstance(chosen, str) and chosen:
        yield at.set("spec.image", chosen)
        return
    version = at.fact("operatorVersion")
    if on_1_5(at.review):
        version = canonical(version)
    tag = version if keep_build else version.partition("+")[0]
    if tag not in ("", "unknown"):
        yield at.set("spec.image", f"{_REPOSITORY}:{tag}")
