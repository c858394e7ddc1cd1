"""Elastic expert parallelism."""

from collections.abc import Iterator

from ..at import At, Findings
from ..review import Fields
from ..rule import COMPONENT, Stage, rule

_SWITCH = "--enable-elastic-ep"
_BACKENDS = ("--data-parallel-backend", "-dpb")
_RAY = "ray"


@rule("DYN218", where=COMPONENT, when="podTemplate", stage=Stage.COMPONENT, since="1.4")
def elastic_ep_command_required(at: At) -> Findings:
    """vLLM is configured for elastic expert parallelism on Ray, but its container has no command.

    Why
        The operator starts Ray's head by wrapping the container's command. It can't wrap the image's default command.

    Fix
        Set {extraPodSpec.mainContainer.command}.

    Example
         {vllm worker}
               {containers of a pod}
        -            - {name: main, image: "example/vllm:1.5.0", args: [--enable-elastic-ep, --data-parallel-backend, ray]}  # expect
        +            - name: main
        +              image: example/vllm:1.5.0
        +              command: [python3, -m, dynamo.vllm]
        +              args: [--enable-elastic-ep, --data-parallel-backend, ray]
    """
    main, place = at.main
    if main and not main.get("command") and at.review.spec.get("backendFramework") == "vllm" and is_elastic_on_ray(main):
        text = f"must be set while the arguments hold {_SWITCH} on the backend {_RAY}, got nothing"
        yield at.required((*place, "command"), text)


def is_elastic_on_ray(container: Fields) -> bool:
    """Whether the arguments of a container switch elastic expert parallelism on Ray on; one pass over their words."""
    switched = ray = False
    before = ""
    for word in _words(container):
        flag, equals, value = word.partition("=")
        switched = switched or word == _SWITCH
        ray = ray or (flag in _BACKENDS and bool(equals) and value == _RAY) or (before in _BACKENDS and word == _RAY)
        before = word
    return switched and ray


def _words(container: Fields) -> Iterator[str]:
    for argument in container.get("args") or ():
        if isinstance(argument, str):
            yield from argument.split()
