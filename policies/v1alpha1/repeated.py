"""Entries that a list of v1alpha1 may repeat, and that must differ where they end: in a container, and in v1beta1."""

from typing import Final

from ..at import At, Findings
from ..rule import COMPONENT_V1ALPHA1, Stage, differs, rule

# the lists that no schema of v1alpha1 holds to their keys: where, and the key
_LISTS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("envs",), "name"),
    (("frontendSidecar", "envs"), "name"),
    (("resources", "claims"), "name"),
    (("volumeMounts",), "mountPoint"),
)
_CACHE: Final = "useAsCompilationCache"  # the first such mount becomes no entry of a container


@differs("there the last entry wins, or Kubernetes refuses the pods", lacking=True)
@rule(
    "DYN260",
    where=COMPONENT_V1ALPHA1,
    when=("envs>1", "volumeMounts>1", "frontendSidecar.envs>1", "resources.claims>1"),
    stage=Stage.COMPONENT,
)
def repeated_entry(at: At) -> Findings:
    """A list contains the same variable, mount or claim twice.

    Why
        The name of a variable or claim, and the path of a mount, must be unique in a container. The schema of v1beta1 refuses duplicates,
        and so does the server-side apply of the workload. The graph would be accepted, but never run.

    Fix
        Remove one of the two entries.

    Example
         {worker service}
               extraPodSpec: {resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}]}
               envs:
                 - {name: LOG_LEVEL, value: info}
        -        - {name: LOG_LEVEL, value: debug}  # expect
        +        - {name: LOG_FORMAT, value: json}
               volumeMounts:
                 - {name: models, mountPoint: /models}
        -        - {name: more, mountPoint: /models}  # expect
        +        - {name: models, mountPoint: /more}
               resources:
                 claims:
                   - {name: gpu}
        -          - {name: gpu}  # expect
    """
    for place, key in _LISTS:
        listed = at.value
        for step in place:
            listed = listed.get(step) if listed else None
        if not listed or len(listed) < 2:
            continue
        first: dict[str, int] = {}
        cache = next((index for index, entry in enumerate(listed) if entry and entry.get(_CACHE)), None)
        for index, entry in enumerate(listed):
            name = entry.get(key) if entry and index != cache else None
            if name is not None and (other := first.setdefault(name, index)) != index:
                text = f'must be unique, got "{name}" again after {".".join(place)}[{other}]'
                yield at.duplicate((*place, index, key), name, text)
