"""Whether a component's pod plainly comes back: member by member, what the way back needs for giving again exactly what it was made of.

No full proof: where something is unusual, nobody vouches for it, and the way back is run. What a rule relies on, it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from conversion.lens.protocol import Fields

_LABELLED: Final = frozenset({"annotations", "labels"})


def flat_fields(left: Fields, pod: Fields, over: Fields, save: Fields) -> bool:
    """Whether flat fields come back from the template that was composed of them without a remainder, resources and mounts apart.

    `pod` and `over` are the overlay that it was composed with, `save` is what was saved of it. No member of `left` is null.
    """
    # containers that aren't main, and pairs of which both halves would be read anew, have rules of their own
    if "frontendSidecar" in left or "containers" in pod or "resources" in over or "volumeMounts" in over:
        return False
    return (
        _overlay(left, pod, over)
        and _pairs(left, over, save)
        and (left.get("extraPodMetadata") is None or _metadata(left["extraPodMetadata"]))
    )


def _overlay(left: Fields, pod: Fields, over: Fields) -> bool:
    """Whether the overlay says all that `extraPodSpec` does: both only leave members out, so that counting them is enough."""
    extra = left.get("extraPodSpec")
    if extra is None:
        return True
    if type(extra) is not dict or not extra:
        return False
    if "mainContainer" not in extra:
        return len(pod) == len(extra)
    main = extra["mainContainer"]
    return type(main) is dict and 0 < len(main) == len(over) and len(pod) + 1 == len(extra)


def _pairs(left: Fields, over: Fields, save: Fields) -> bool:
    """Whether env, envFrom and probes come back: a flat half alone as it is, a half in the overlay where both halves were saved.

    A saved pair speaks when both together say what lives, and they do: the same function has just made it of the same values.
    """
    secret, envs = left.get("envFromSecret"), left.get("envs")
    if secret is not None and (type(secret) is not str or "envFrom" in over):
        return False
    if envs is not None and "env" not in over and not (envs and type(envs) is list):
        return False
    return (
        ("env" not in over or _saved(left, over, save, "envs", "env"))
        and ("livenessProbe" not in over or _saved(left, over, save, "livenessProbe", "livenessProbe"))
        and ("readinessProbe" not in over or _saved(left, over, save, "readinessProbe", "readinessProbe"))
    )


def _saved(left: Fields, over: Fields, save: Fields, flat: str, native: str) -> bool:
    """Whether both halves of a pair were saved, as the very values that they are."""
    extra = save.get("extraPodSpec")
    half = None if extra is None else extra.get("mainContainer", {}).get(native)
    return half is over[native] and save.get(flat) is left.get(flat)


def _metadata(metadata: object) -> bool:
    """Whether metadata is labels and annotations, none of them empty."""
    return type(metadata) is dict and bool(metadata) and metadata.keys() <= _LABELLED and all(metadata.values())
