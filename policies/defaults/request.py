"""Defaults of requests."""

from collections.abc import Iterator

from ..at import At
from ..finding import Edit
from ..review import CREATE, is_line_1_4
from ..rule import DGDR, default, differs
from ..semver import canonical

_CHOICES = {"backend": "auto", "searchStrategy": "rapid", "autoApply": True}
_REPOSITORY = "nvcr.io/nvidia/ai-dynamo/dynamo-planner"


@differs("a version with build metadata makes an invalid image tag")
@default("DYND04", where={DGDR: ""}, on=(CREATE,), needs=("operatorVersion",))
def mut_dgdr_image(at: At) -> Iterator[Edit]:
    """A request without an image gets the profiler image of the operator's version.

    Why
        Profiler and operator are released together. Build metadata of the version (`+...`) is left out, because a tag can't contain a
        plus. Since operator 1.4, an administrator can name another image with the fact `dgdrDefaultImage`.

    Before
        # facts: {operatorVersion: 1.2.0+build.7}
        spec: {model: m}

        # facts: {operatorVersion: 1.5.0, dgdrDefaultImage: "example/planner:1.5.0"}
        spec: {model: m}

    After
        spec: {model: m, image: "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.2.0"}

        spec: {model: m, image: "example/planner:1.5.0"}
    """
    if at.get("spec.image"):
        return
    chosen = at.review.facts.dgdrDefaultImage
    if is_line_1_4(at.review) and isinstance(chosen, str) and chosen:
        yield at.set("spec.image", chosen)
        return
    version = at.fact("operatorVersion")
    if is_line_1_4(at.review):
        version = canonical(version)
    tag = version.partition("+")[0]
    if tag not in ("", "unknown"):
        yield at.set("spec.image", f"{_REPOSITORY}:{tag}")


@default("DYND10", where={DGDR: "spec"}, on=(CREATE,), since="1.7")
def mut_dgdr_choices(at: At) -> Iterator[Edit]:
    """A new request gets the backend, the search strategy and whether its graph is deployed at once.

    Why
        Since operator 1.7, the definition has no defaults for them, because it would also set them for requests of v1beta2.

    Before
        spec: {model: m, autoApply: false}

    After
        spec: {model: m, autoApply: false, backend: auto, searchStrategy: rapid}
    """
    for name, value in _CHOICES.items():
        if at.get(name) is None:
            yield at.set(name, value)
