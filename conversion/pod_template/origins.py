"""What the flat fields of v1alpha1 say beyond their template: collecting it, and restoring it where the template still says the same.

Each group (env, envFrom, resources, probes, mounts) has a flat half and an overlay half; a kept pair speaks only while both together
give exactly what lives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conversion.pod_template import mounts, resources
from conversion.pod_template.compose import PROBES, effective_env, effective_resources
from conversion.pod_template.content import MAIN, SIDECAR, content, names, pod_content
from conversion.pod_template.overlay import merged, plain_secret, secret_source
from conversion.reading import fields, items

if TYPE_CHECKING:
    from conversion.lens.protocol import Fields
    from conversion.pod_template.decompose import Pieces

_GROUPS: Final = (("envs", "env"), ("envFromSecret", "envFrom"), ("resources", "resources"), ("volumeMounts", "volumeMounts"))
_SPLIT: Final = ("env", "resources", "volumeMounts", *PROBES)
_LEFT_ONLY: Final = ("dynamoNamespace", "autoscaling", "ingress", "annotations", "labels")
_SWITCHES: Final = ("scalingAdapter", "gpuMemoryService", "failover", "checkpoint")


def collect(left: Fields, pod: Fields, over: Fields, save: Fields, *, travelled: bool, mains: bool) -> bool:
    """Saves what the template won't tell; answers whether it tells resources and mounts exactly.

    `pod` and `over` are the overlay that it was composed with.
    `travelled`: the object was written as v1beta1 first, so halves are saved only where they matter; `mains`: the template keeps
    further containers named main.
    """
    before, told = len(save), True
    if type(secret := left.get("envFromSecret")) is str:
        save["envFromSecret"] = secret
    flat = left.get("resources")
    if flat is not None:
        told = type(flat) is dict and resources.reproducible(flat)
        if not told and type(flat) is dict:
            save["resources"] = flat
    if (written := left.get("volumeMounts")) is not None:
        entries = items(left, "volumeMounts")
        if entries and not mounts.reproducible(entries):
            save["volumeMounts"] = entries
        told = told and mounts.exact(written)
    metadata = left.get("extraPodMetadata")
    if type(metadata) is dict and not (metadata.get("annotations") or metadata.get("labels")):
        save["extraPodMetadata"] = metadata
    if type(sidecar := left.get("frontendSidecar")) is dict:
        save["frontendSidecar"] = sidecar
    extra = left.get("extraPodSpec")
    if type(extra) is dict:
        if not pod and not over:
            save["extraPodSpec"] = extra
        eager = not travelled or len(save) > before or _says_more(left)
        _collect_overlay(left, pod, over, save, eager=eager, mains=mains)
    return told


def _collect_overlay(left: Fields, pod: Fields, said: Fields, save: Fields, *, eager: bool, mains: bool) -> None:
    main = left["extraPodSpec"].get("mainContainer")
    if type(main) is dict and (eager or main.get("name") or any(_entries(said.get(name)) for name in _SPLIT)):
        _collect_halves(left, main.get("name"), said, save)
    if "containers" not in pod or not (containers := items(pod, "containers")):
        return
    if (MAIN in names(containers) and not mains) or (SIDECAR in names(containers) and left.get("frontendSidecar") is not None):
        # names that the template gives a meaning of its own; the Go operator doesn't read this member
        save["extraPodSpec"] = {**save.get("extraPodSpec", {}), "containers": containers}


def _entries(value: object) -> bool:
    """Whether a half says anything; a list of nulls alone is no half."""
    return any(value) if type(value) is list else value is not None


def _says_more(left: Fields) -> bool:
    """Whether members beside the pod's will be saved too."""
    memory = left.get("sharedMemory")
    if any(left.get(name) is not None for name in _LEFT_ONLY) or (
        type(memory) is dict and (len(memory) != 1 or memory.get("disabled") is False)
    ):
        return True
    sub = left.get("subComponentType")
    if sub and (left.get("componentType") != "worker" or sub not in ("prefill", "decode")):
        return True
    return any(type(switch := left.get(name)) is dict and switch.get("enabled") is not True for name in _SWITCHES)


def _collect_halves(left: Fields, name: object, said: Fields, save: Fields) -> None:
    """Saves both halves of every group that says something."""
    over: Fields = {"name": name} if name else {}
    kept = bool(over)
    for flat, native in _GROUPS:
        mine = left.get(flat)
        if not (mine or (mine is not None and flat in ("envFromSecret", "resources")) or native in said):
            continue
        kept = True
        if mine is not None:
            save[flat] = mine
        if native in said:
            over[native] = said[native]
    for probe in PROBES:
        if left.get(probe) is not None or probe in said:
            kept = True
            if left.get(probe) is not None:
                save[probe] = left[probe]
            if probe in said:
                over[probe] = said[probe]
    if kept:
        save["extraPodSpec"] = {**save.get("extraPodSpec", {}), "mainContainer": over}


def restore(pieces: Pieces, kept: Fields) -> None:
    """Gives back the flat fields as they were written, group by group."""
    extra = fields(kept, "extraPodSpec")
    over = fields(extra, "mainContainer")
    said = content(over) if over else {}
    _restore_mounts(pieces, kept, said)
    if pieces.main is None and (pieces.rest or not pieces.present):
        return
    main = pieces.main or {}  # where there is no container at all, a main that says nothing may as well be absent
    if containers := items(extra, "containers"):
        _restore_containers(pieces, containers)
    overlaid = bool(pieces.over)
    _restore_lists(pieces, main, kept, said)
    _restore_probes(pieces, main, kept, said)
    # an overlay that was nothing but a name stays one where the secret, which a flat field names, was all that there is to see of it
    if over.get("name") and (pieces.over or (overlaid and not said and not pod_content(extra))):
        pieces.over["name"] = over["name"]
    metadata = kept.get("extraPodMetadata")
    if type(metadata) is dict and not any(pieces.metadata.get(name) for name in ("annotations", "labels")):
        pieces.flat["extraPodMetadata"] = metadata


def restore_empty(left: Fields, kept: Fields) -> None:
    """Gives back an `extraPodSpec` that says nothing, where none lives."""
    extra = kept.get("extraPodSpec")
    if type(extra) is dict and "extraPodSpec" not in left and not pod_content(extra) and not content(fields(extra, "mainContainer")):
        left["extraPodSpec"] = extra


def _set(struct: Fields, name: str, value: object) -> None:
    """Sets a member, or takes it away for None."""
    if value is not None:
        struct[name] = value
    else:
        struct.pop(name, None)


def _restore_lists(pieces: Pieces, main: Fields, kept: Fields, said: Fields) -> None:
    """Env, envFrom and resources: each pair as a whole."""
    flat, over = pieces.flat, pieces.over
    envs, env = kept.get("envs"), said.get("env")
    if (envs is not None or env is not None) and (effective_env(kept, said) or []) == (main.get("env") or []):
        _set(flat, "envs", envs)
        _set(over, "env", env)
    secret, sources = kept.get("envFromSecret"), items(main, "envFrom")
    if secret == "" or (secret and (items(said, "envFrom") or secret_source(secret)) == sources):
        flat["envFromSecret"] = secret
        if "envFrom" not in said and plain_secret(sources) == secret:
            del over["envFrom"]
    amounts = kept.get("resources")
    if pieces.main is None or (amounts == flat.get("resources") and "resources" not in said):
        return  # even resources that give no amount ask for a main; mostly what was read is what was kept
    if (amounts is not None or "resources" in said) and effective_resources(fields(kept, "resources"), fields(said, "resources")) == fields(
        main, "resources"
    ):
        _set(flat, "resources", amounts)
        _set(over, "resources", said.get("resources"))


def _restore_probes(pieces: Pieces, main: Fields, kept: Fields, said: Fields) -> None:
    for probe in PROBES:
        if (probe in kept or probe in said) and merged(kept.get(probe), said.get(probe)) == main.get(probe):
            _set(pieces.flat, probe, kept.get(probe))
            _set(pieces.over, probe, said.get(probe))


def _restore_mounts(pieces: Pieces, kept: Fields, said: Fields) -> None:
    flat, over = items(kept, "volumeMounts"), items(said, "volumeMounts")
    if not over and (not flat or flat == pieces.flat.get("volumeMounts")):
        return  # what was read is what was kept
    if pieces.main is None and pieces.present and not mounts.reproducible(flat):
        return  # several caches would make a main, with mounts, in a template whose author has none
    live = items(pieces.main, "volumeMounts") if pieces.main is not None else None
    entries = mounts.restored(items(pieces.flat, "volumeMounts"), flat, over, pieces.cache, live)
    if entries is None:
        return
    _set(pieces.flat, "volumeMounts", entries or None)
    if over:
        pieces.over["volumeMounts"] = live


def _restore_containers(pieces: Pieces, containers: list[Fields]) -> None:
    """Containers whose names the template reads otherwise come back while the others are what they were."""
    if [other for other in containers if other.get("name") != MAIN] == pieces.rest:
        pieces.rest = containers
