"""The image of the main container."""

from ..at import At
from ..domain import LPX
from ..engines import list_templates
from ..rule import COMPONENT, Hits, Stage, rule
from ..words import Words

_IMAGE = "must name the image of the main container, got nothing"


@rule("DYN212", where=COMPONENT, stage=Stage.COMPONENT, since="1.5")
def image_required(at: At) -> Hits:
    """A component's main container has no image.

    Why
        The operator sets no image. The API server would refuse the pods later, where the error is hard to find.

    Fix
        Set {extraPodSpec.mainContainer.image}.

    Example
    bad spec:
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       podTemplate:
    bad         spec:
    bad           containers:
    bad             - {name: main, image: ""}  # expect

        spec:
    bad   components:
    bad     - {name: worker, type: worker}  # expect
    ok    components: [{name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}}]
    """
    if at.value.get("type") == LPX or list_templates(at.value):
        return  # each role has a template of its own
    main, place = at.main
    if not main:
        text = 'must have a container "main" with an image, got none'
        yield at.required(place[:-1], Words(_IMAGE, text))
    elif not main.get("image"):
        yield at.required((*place, "image"), _IMAGE)
