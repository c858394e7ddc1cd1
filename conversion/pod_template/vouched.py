"""Whether a component's pod plainly comes back: member by member, what the way back needs for giving again exactly what it was made of.

No full proof: where something is unusual, nobody vouches for it, and the way back is run. What a rule relies on, it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.conversion.difference import same_text
from dynamo_webhooks.conversion.pod_template import resources
from dynamo_webhooks.conversion.pod_template.compose import PROBES, effective_env
from dynamo_webhooks.conversion.pod_template.content import pod_content
from dynamo_webhooks.conversion.pod_template.mounts import flagged, native_mount
from dynamo_webhooks.conversion.pod_template.overlay import merged, secret_source
from dynamo_webhooks.conversion.reading import fields

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.conversion.pod_template.decompose import Pieces

_PLAIN: Final = frozenset({"name", "mountPath"})
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


def template(right: Fields, flat: Fields, pieces: Pieces) -> bool:
    """Whether a template comes back from the flat fields made of it, restored ones included, so that nothing of it is to be saved.

    A component with a cache or a sidecar has rules of its own. Where values are compared and not the very same, they are texts, or are
    compared as texts: what is equal may be something else, as 1 is to true.
    """
    if "compilationCache" in right or "frontendSidecar" in right or "frontendSidecar" in flat or not pieces.main or pieces.rest:
        return False
    made: Fields = right["podTemplate"]
    spec, metadata = made["spec"], made.get("metadata")
    containers = spec["containers"]
    # decomposing only leaves members out, so that counting them is enough
    if len(containers) != 1 or len(made) != (1 if metadata is None else 2) or len(pieces.main) != len(containers[0]) - 1:
        return False
    if len(spec) > 1 and len(pod_content(fields(flat, "extraPodSpec"))) != len(spec) - 1:
        return False
    if not ("extraPodMetadata" not in flat if metadata is None else _metadata(metadata)):
        return False
    return _main(containers[0], flat, pieces.over)


def _main(main: Fields, flat: Fields, over: Fields) -> bool:
    """Whether the main container comes back, member by member; those without a flat field stay in the overlay as they are."""
    if "resources" in over or "volumeMounts" in over:
        return False
    secret = flat.get("envFromSecret")
    if secret is not None and ("envFrom" in over or secret_source(secret) != main.get("envFrom", [])):
        return False
    env, plain = main.get("env"), "env" not in over
    if not (plain and env is flat.get("envs") and (env is None or type(env) is list)) and not same_text(effective_env(flat, over), env):
        return False
    for probe in PROBES:
        live, mine = main.get(probe), flat.get(probe)
        if (probe in over or mine is not live) and not same_text(merged(mine, over.get(probe)), live):
            return False
    return _amounts(main.get("resources"), flat.get("resources")) and _plain(main.get("volumeMounts"), flat.get("volumeMounts"))


def _amounts(live: Any, flat: Any) -> bool:
    """Whether flat resources make the live ones; quantities are texts on both sides, and claims aren't looked into."""
    if live is None:
        return not flat
    return type(live) is dict and type(flat) is dict and "claims" not in live and resources.native(flat) == live


def _plain(live: Any, flat: Any) -> bool:
    """Whether a flat list makes the live mounts, which are a volume and a path, and no cache."""
    if live is None or flat is None:
        return live is flat
    for mount in live:
        if type(mount) is not dict or mount.keys() != _PLAIN or type(mount["name"]) is not str or type(mount["mountPath"]) is not str:
            return False
    return not any(flagged(entry) for entry in flat) and [native_mount(entry) for entry in flat] == live
