"""Saves what the template of v1alpha1's flat fields lacks, and restores it if the template still matches.

Each group (env, envFrom, resources, probes, mounts) has a flat half and an overlay half (`mainContainer`); a saved pair is restored only if
both together make exactly the live group. Else a value returns to its saved half, entry by entry and independent of other entries:
server-side apply converts parts of objects, and a manager loses a field whose place changes. Values without a saved place are flat fields.
"""

from typing import Any, Final

from ...api.line import Line
from ..experimental import has_switch
from ..lens.protocol import Context, Fields
from ..lens.structs import object_items, object_member
from . import mounts, resources
from .compose import PROBES, effective_env, effective_resources
from .content import MAIN, SIDECAR, container_names, content, merge_env, merge_override, pod_content, read_plain_secret, text
from .decompose import TemplateParts, is_plain_container, is_plain_sidecar

# In the remainder of a component: main's mounts are those of both halves, and not the overlay's alone, as on line 1.2.
JOINED: Final = "mountsJoined"
_GROUPS: Final = (("envs", "env"), ("envFromSecret", "envFrom"), ("resources", "resources"), ("volumeMounts", "volumeMounts"))
_SPLIT: Final = ("env", "resources", "volumeMounts", *PROBES)
_PROBES: Final = frozenset(PROBES)
_LEFT_ONLY: Final = ("dynamoNamespace", "autoscaling", "ingress", "annotations", "labels")
_SWITCHES: Final = ("scalingAdapter", "gpuMemoryService", "failover", "checkpoint")


def collect(
    left: Fields, pod: Fields, over: Fields, remainder: Fields, save: Fields, context: Context, *, mains: bool, sidecar: Fields | None
) -> None:
    """Save what the template lacks.

    `pod` and `over` are the overlay of its composition. For an object first written in v1beta1, halves are saved only if they matter.
    `mains`: the template keeps further containers named main; `sidecar`: the container of the generated sidecar.
    """
    since = context.line >= Line.V1_3
    before, quiet = len(save), context.has_remainder and not context.both and not since
    if type(secret := left.get("envFromSecret")) is str and not (quiet and secret and "envFrom" not in over):
        save["envFromSecret"] = secret
    if type(flat := left.get("resources")) is dict and not resources.reproducible(flat):
        save["resources"] = flat
    if (entries := object_items(left, "volumeMounts")) and not (mounts.reproducible(entries) and mounts.read_flags(entries)):
        save["volumeMounts"] = entries
    metadata = left.get("extraPodMetadata")
    if type(metadata) is dict and not (metadata.get("annotations") or metadata.get("labels")):
        save["extraPodMetadata"] = metadata
    if type(flat := left.get("frontendSidecar")) is dict:
        hidden = "containers" in pod and SIDECAR in container_names(object_items(pod, "containers"))
        if hidden or not (quiet and is_plain_sidecar(flat) and is_plain_container(sidecar)):
            save["frontendSidecar"] = flat
    extra = left.get("extraPodSpec")
    if type(extra) is dict:
        if not pod and not over:
            save["extraPodSpec"] = extra
        eager = not context.has_remainder or len(save) > before or _says_more(left, native=has_switch(remainder, context))
        _collect_overlay(left, pod, over, save, eager=eager, mains=mains, sidecar=sidecar, whole=since)
        if since and object_items(over, "volumeMounts") and left.get("volumeMounts"):
            save[JOINED] = True


def _collect_overlay(
    left: Fields, pod: Fields, overlay: Fields, save: Fields, *, eager: bool, mains: bool, sidecar: Fields | None, whole: bool
) -> None:
    main = left["extraPodSpec"].get("mainContainer")
    # on line 1.2 a list of one plain secret would return as its name
    halved = any(_entries(overlay.get(name)) for name in _SPLIT) or (
        not whole and read_plain_secret(object_items(overlay, "envFrom")) is not None
    )
    if type(main) is dict and (eager or main.get("name") or halved):
        _collect_halves(left, main.get("name"), overlay, save)
    if "containers" not in pod or not (containers := object_items(pod, "containers")):
        return
    sidecars = container_names(containers).count(SIDECAR)
    hidden = sidecars > 0 and left.get("frontendSidecar") is not None
    if hidden and whole:
        save["extraPodSpec"] = left["extraPodSpec"]  # for the Go operator's rule, which reads v1alpha1 from the annotation
    elif (MAIN in container_names(containers) and not mains) or hidden or (not whole and sidecars == 1 and is_plain_container(sidecar)):
        # names with a meaning in the template; the Go operator doesn't read this member
        save["extraPodSpec"] = {**save.get("extraPodSpec", {}), "containers": containers}


def _entries(value: object) -> bool:
    """Whether a half has content; a list of nulls hasn't."""
    return any(value) if type(value) is list else value is not None


def _says_more(left: Fields, *, native: bool) -> bool:
    """Whether other members than the pod's will be saved too."""
    memory = left.get("sharedMemory")
    if any(left.get(name) is not None for name in _LEFT_ONLY) or (
        type(memory) is dict and (len(memory) != 1 or memory.get("disabled") is False)
    ):
        return True
    sub = left.get("subComponentType")
    if sub and (left.get("componentType") != "worker" or sub not in ("prefill", "decode")):
        return True
    switches = _SWITCHES[:-1] if native else _SWITCHES
    return any(type(switch := left.get(name)) is dict and switch.get("enabled") is not True for name in switches)


def _collect_halves(left: Fields, name: object, overlay: Fields, save: Fields) -> None:
    """Save both halves of every group with content."""
    over: Fields = {"name": name} if name else {}
    remainder = bool(over)
    for flat, native in _GROUPS:
        mine = left.get(flat)
        if not (mine or (mine is not None and flat in ("envFromSecret", "resources")) or native in overlay):
            continue
        remainder = True
        if mine is not None:
            save[flat] = mine
        if native in overlay:
            over[native] = overlay[native]
    for probe in PROBES:
        if left.get(probe) is not None or probe in overlay:
            remainder = True
            if left.get(probe) is not None:
                save[probe] = left[probe]
            if probe in overlay:
                over[probe] = overlay[probe]
    if remainder:
        save["extraPodSpec"] = {**save.get("extraPodSpec", {}), "mainContainer": over}


def restore(parts: TemplateParts, remainder: Fields, line: Line) -> None:
    """Restore the flat fields as written, group by group."""
    extra = object_member(remainder, "extraPodSpec")
    over = object_member(extra, "mainContainer")
    overlay = content(over) if over else {}
    _restore_mounts(parts, remainder, overlay, line)
    if parts.main is None and (parts.extra or not parts.present):
        return
    main = parts.main or {}  # without any container, an empty main equals an absent one
    if "containers" in extra and (containers := object_items(extra, "containers")):
        _restore_containers(parts, containers)
    _restore_env(parts, main, remainder, overlay)
    _restore_sources(parts, main, remainder, overlay)
    _restore_resources(parts, main, remainder, overlay)
    if not (_PROBES.isdisjoint(remainder) and _PROBES.isdisjoint(overlay)):
        _restore_probes(parts, main, remainder, overlay)
    if over.get("name"):
        parts.extra_main["name"] = over["name"]
    metadata = remainder.get("extraPodMetadata")
    if type(metadata) is dict and not any(parts.metadata.get(name) for name in ("annotations", "labels")):
        parts.flat["extraPodMetadata"] = metadata


def restore_empty(left: Fields, remainder: Fields) -> None:
    """Restore an empty `extraPodSpec`, if there is none, or the empty members beside a main container that is the saved one."""
    extra = remainder.get("extraPodSpec")
    if type(extra) is not dict or pod_content(extra):
        return
    main = object_member(extra, "mainContainer")
    if left["extraPodSpec"] == {"mainContainer": main} if "extraPodSpec" in left else not content(main):
        left["extraPodSpec"] = extra


def _set(struct: Fields, name: str, value: object) -> None:
    """Set a member, or remove it for None."""
    if value is not None:
        struct[name] = value
    else:
        struct.pop(name, None)


def _restore_env(parts: TemplateParts, main: Fields, remainder: Fields, overlay: Fields) -> None:
    envs, env = remainder.get("envs"), overlay.get("env")
    if envs is None and env is None:
        return
    if (effective_env(remainder, overlay) or []) != (main.get("env") or []):
        envs, env = _env_halves(main.get("env"), object_items(overlay, "env"))
    _set(parts.flat, "envs", envs)
    _set(parts.extra_main, "env", env)


def _restore_sources(parts: TemplateParts, main: Fields, remainder: Fields, overlay: Fields) -> None:
    """Restore a secret's name or a list of sources in its original place; the list hides the name."""
    secret = remainder.get("envFromSecret")
    if "envFrom" in overlay and object_items(overlay, "envFrom") and object_items(main, "envFrom"):
        parts.extra_main["envFrom"] = main["envFrom"]
        _set(parts.flat, "envFromSecret", secret)
    elif secret == "" and "envFromSecret" not in parts.flat:
        parts.flat["envFromSecret"] = secret


def _restore_resources(parts: TemplateParts, main: Fields, remainder: Fields, overlay: Fields) -> None:
    flat, over = remainder.get("resources"), overlay.get("resources")
    if parts.main is None or (flat is None and over is None) or (flat == parts.flat.get("resources") and over is None):
        return  # even empty resources need a main; usually the read value is the saved one
    live, mine, theirs = object_member(main, "resources"), object_member(remainder, "resources"), object_member(overlay, "resources")
    if effective_resources(mine, theirs) != live:
        mine, theirs = _resource_halves(live, mine, theirs)
        if effective_resources(mine, theirs) != live:
            return
        flat, over = mine or None, theirs or None
    _set(parts.flat, "resources", flat)
    _set(parts.extra_main, "resources", over)


def _restore_probes(parts: TemplateParts, main: Fields, remainder: Fields, overlay: Fields) -> None:
    for probe in PROBES:
        flat, over, live = remainder.get(probe), overlay.get(probe), main.get(probe)
        if flat is None and over is None:
            continue
        if merge_override(flat, over) != live:
            flat, over = (None, live) if flat is None else _probe_halves(live, over)
            if merge_override(flat, over) != live:
                continue
        _set(parts.flat, probe, flat)
        _set(parts.extra_main, probe, over)


def _restore_mounts(parts: TemplateParts, remainder: Fields, overlay: Fields, line: Line) -> None:
    flat, over = object_items(remainder, "volumeMounts"), object_items(overlay, "volumeMounts") if "volumeMounts" in overlay else []
    if not over and (not flat or flat == parts.flat.get("volumeMounts")):
        return  # the read value is the saved one
    if parts.main is None and parts.present and not mounts.reproducible(flat):
        return  # several caches would add a main with mounts to a template without one
    live = object_items(parts.main, "volumeMounts") if parts.main is not None else None
    read = object_items(parts.flat, "volumeMounts")
    if over and live and line >= Line.V1_3:
        entries, above = mounts.split_mounts(read, flat, over, parts.cache, live, alone=remainder.get(JOINED) is not True)
        _set(parts.extra_main, "volumeMounts", above or None)
    elif (restored := mounts.restore_flat_list(read, flat, over, parts.cache, live)) is not None:
        entries = restored
        if over and live:
            parts.extra_main["volumeMounts"] = live
    else:
        return
    _set(parts.flat, "volumeMounts", entries or None)


def _restore_containers(parts: TemplateParts, containers: list[Fields]) -> None:
    """Restore containers whose names have a meaning in the template, if the others are unchanged."""
    if [other for other in containers if other.get("name") != MAIN] == parts.extra:
        parts.extra = containers


def _env_halves(live: Any, over: list[Fields]) -> tuple[Any, Any]:
    """The flat entries and those of the overlay, which had the names of `over`.

    If the halves alone would change the order, the flat one gets all entries, to hold the places of the overlay's.
    """
    if type(live) is not list or not all(type(entry) is dict for entry in live):
        return live, None
    named = {text(entry.get("name")) for entry in over}
    mine = [entry for entry in live if text(entry.get("name")) in named]
    if not mine:
        return live, None
    for flat in ([entry for entry in live if text(entry.get("name")) not in named], live):
        if merge_env(flat, mine) == live:
            return flat or None, mine
    return live, None


def _resource_halves(live: Fields, flat: Fields, over: Fields) -> tuple[Fields, Fields]:
    """Flat resources and those of the overlay, by amount; a saved text of the same amount is restored."""
    mine: Fields = {}
    theirs: Fields = {}
    for part in resources.AMOUNTS:
        above: Fields = {}
        below: Fields = {}
        texts = object_member(over, part)
        known = resources.normalize_resources(over).get(part, {})
        for name, amount in object_member(live, part).items():
            if name in texts:
                above[name] = texts[name] if known.get(name) == amount else amount
            else:
                below[name] = amount
        if below:
            mine[part] = resources.flat_part(below, object_member(flat, part))
        if above:
            theirs[part] = above
    if claims := live.get("claims"):
        (theirs if over.get("claims") else mine)["claims"] = claims
    return mine, theirs


def _probe_halves(live: Any, over: Any) -> tuple[Any, Any]:
    """A flat probe and the overlay's, which had the members of `over`."""
    if type(live) is not dict or type(over) is not dict or not live:
        return (live, None) if over is None else (None, live)
    mine: Fields = {}
    theirs: Fields = {}
    for name, value in live.items():
        flat, above = _probe_halves(value, over[name]) if name in over else (value, None)
        if flat is not None:
            mine[name] = flat
        if above is not None:
            theirs[name] = above
    return mine or None, theirs or None
