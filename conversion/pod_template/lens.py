"""The lens of the pod: the flat fields of v1alpha1 on the left; template, compilation cache and frontend sidecar on the right."""

from collections.abc import Iterator
from typing import Final

from ...api.line import Line
from ...api.paths import Key, Path
from ..lens.protocol import Context, Fields, Lens, Row
from ..lens.structs import object_items, object_member
from . import origins
from .compose import PROBES, compose_known, overlay
from .content import MAIN, SIDECAR, container_names, find_container, find_index
from .decompose import is_plain_container, join_parts, move_sidecar, split_template
from .mounts import cache_of, is_compilation_cache
from .recall import recall
from .residue import residue
from .resources import GPU
from .written import find_cache, find_in_main, find_other

_CONTAINERS: Final[Path] = ("podTemplate", "spec", "containers")
_MAIN: Final[Path] = (*_CONTAINERS, Key(MAIN))
_SIDECAR: Final[Path] = (*_CONTAINERS, Key(SIDECAR))


class PodTemplate(Lens):
    """Composes and decomposes templates; saved values are restored only if the other side still matches."""

    left: tuple[str, ...] = (
        "resources",
        "envs",
        "envFromSecret",
        "volumeMounts",
        "livenessProbe",
        "readinessProbe",
        "extraPodMetadata",
        "extraPodSpec",
        "frontendSidecar",
    )
    right: tuple[str, ...] = ("podTemplate", "compilationCache", "frontendSidecar")

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Compose the template, then restore v1beta1's other values."""
        if not context.pods:
            return
        if left.get("volumeMounts") and (cache := cache_of(object_items(left, "volumeMounts"))) is not None:
            right["compilationCache"] = cache
        if type(left.get("frontendSidecar")) is dict:
            right["frontendSidecar"] = SIDECAR
        pod, over = overlay(left)
        mains = False
        if remainder.get("podTemplate") is not None or remainder.get("frontendSidecar") is not None:
            mains = _recalled(left, right, remainder, pod, over, context.line)
        elif (template := compose_known(left, pod, over, context.line, forced=False, mains=False)) is not None:
            right["podTemplate"] = template
        if context.saving:
            origins.collect(left, pod, over, remainder, save, context, mains=mains, sidecar=_generated(right))

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Decompose the template, restore v1alpha1's other values, and save what the flat fields lack."""
        saved = context.line >= Line.V1_3  # flat forms of v1alpha1 alone: as the Go operator does, where the remainder has them
        parts = split_template(right, secrets=bool(remainder.get("envFromSecret")) or not saved)
        if right.get("frontendSidecar") == SIDECAR:
            sidecar = object_member(remainder, "frontendSidecar")
            if find_container(object_items(object_member(remainder, "extraPodSpec"), "containers"), SIDECAR) is None:
                if "frontendSidecar" in remainder or (not saved and is_plain_container(find_container(parts.extra, SIDECAR))):
                    move_sidecar(parts, sidecar)
            elif (
                "frontendSidecar" in remainder and find_container(parts.extra, SIDECAR) is not None
            ):  # a container of that name beside the flat sidecar hid it
                parts.flat["frontendSidecar"] = sidecar
        if remainder:
            origins.restore(parts, remainder, context.line)
        flat = join_parts(parts)
        if remainder:
            origins.restore_empty(flat, remainder)
        left.update(flat)
        if not context.saving:
            return
        reference = right.get("frontendSidecar")
        if reference is not None and "frontendSidecar" in flat:
            reference = None
        if reference is not None:
            save["frontendSidecar"] = reference
        if parts.present and (template := residue(right, flat, parts, reference, context)) is not None:
            save["podTemplate"] = template

    def to_left(self, path: Path, right: Fields, left: Fields) -> Path | None:
        """The flat fields' path for one below a component's template, cache or sidecar name."""
        head, rest = path[0], path[1:]
        if head == "compilationCache":
            return find_cache(rest, left)
        if head == "frontendSidecar":
            return None
        if rest[:1] == ("metadata",):
            return ("extraPodMetadata", *rest[1:])
        if rest[:2] != ("spec", "containers"):
            return ("extraPodSpec", *rest[1:])
        containers = object_items(object_member(object_member(right, "podTemplate"), "spec"), "containers")
        main = find_index(containers, MAIN)
        if len(rest) < 3:  # a list without the main container is one whose image v1alpha1 lacks
            return ("extraPodSpec", "containers") if main >= 0 else ("extraPodSpec", "mainContainer", "image")
        step = rest[2]
        index = step if type(step) is int else find_index(containers, str(step))
        if index == -1 and step == MAIN:
            return find_in_main(rest[3:], right, {}, left)
        if not 0 <= index < len(containers):
            return ("extraPodSpec", "containers")
        if index == main:
            return find_in_main(rest[3:], right, containers[index], left)
        return find_other(index - (0 <= main < index), rest[3:], containers[index].get("name"), left)

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """The template's path for one below a component's flat pod fields."""
        head, rest = path[0], path[1:]
        if head == "resources":
            return (*_MAIN, "resources", *_amounts_right(rest, object_member(left, "resources")))
        if head in PROBES:
            return (*_MAIN, *path)
        if head == "envs":
            return (*_MAIN, "env", *rest)
        if head == "envFromSecret":
            return (*_MAIN, "envFrom", 0, "secretRef", "name")
        if head == "volumeMounts":
            return _mount_right(rest, left)
        if head == "extraPodMetadata":
            return ("podTemplate", "metadata", *rest)
        if head == "frontendSidecar":
            return _sidecar_right(rest)
        return _extra_right(rest, left)

    def rows(self) -> Iterator[Row]:
        """The correspondence of each member."""
        main = "podTemplate.spec.containers[main]"
        yield Row("resources", f"{main}.resources", "gpu is nvidia.com/gpu or gpuType; custom names stay unchanged")
        yield Row("envs", f"{main}.env", "main container env merged over it by name")
        yield Row("envFromSecret", f"{main}.envFrom", "one secret reference")
        yield Row(
            "volumeMounts",
            f"{main}.volumeMounts, compilationCache",
            "the first flagged entry is the cache alone; options of mounts are kept aside",
        )
        yield Row("livenessProbe", f"{main}.livenessProbe", "main container probe merged over it")
        yield Row("readinessProbe", f"{main}.readinessProbe", "main container probe merged over it")
        yield Row("extraPodMetadata", "podTemplate.metadata", "labels and annotations; other metadata is kept aside")
        yield Row("extraPodSpec.mainContainer", main, "merged over the flat fields")
        yield Row("extraPodSpec", "podTemplate.spec", "copied; containers follow main")
        yield Row("frontendSidecar", f"frontendSidecar, podTemplate.spec.containers[{SIDECAR}]", "a container, and its name")


def _generated(right: Fields) -> Fields | None:
    """The sidecar container of a component that names the generated sidecar."""
    if right.get("frontendSidecar") != SIDECAR:
        return None
    return find_container(object_items(object_member(object_member(right, "podTemplate"), "spec"), "containers"), SIDECAR)


def _recalled(left: Fields, right: Fields, remainder: Fields, pod: Fields, over: Fields, line: Line) -> bool:
    """Compose with saved values; also returns whether further containers are named main."""
    known = type(remainder.get("podTemplate")) is dict
    remembered = object_member(remainder, "podTemplate")
    mains = known and container_names(object_items(object_member(remembered, "spec"), "containers")).count(MAIN) > 1
    template = compose_known(left, pod, over, line, forced=known, mains=mains)
    if known and template is not None:
        template = recall(template, remembered, left, line)
    if template is not None:
        right["podTemplate"] = template
    if type(reference := remainder.get("frontendSidecar")) is str and "frontendSidecar" not in right:
        _recall_reference(right, template, remembered, reference)
    return mains


def _recall_reference(right: Fields, template: Fields | None, remembered: Fields, reference: str) -> None:
    """Restore the sidecar's name, unless its container was deleted."""
    known = find_container(object_items(object_member(remembered, "spec"), "containers"), reference)
    if known is None or find_container(object_items(object_member(template or {}, "spec"), "containers"), reference) is not None:
        right["frontendSidecar"] = reference


def _amounts_right(path: Path, flat: Fields) -> Path:
    if len(path) < 2 or path[0] == "claims":
        return path
    part, name, below = path[0], path[1], path[2:]
    if name == "custom":
        return (part, *below[:1])
    kind = object_member(flat, str(part)).get("gpuType")
    native = {"gpu": kind or GPU, "gpuType": kind or GPU}.get(str(name), str(name))
    return (part, Key(native))


def _mount_right(path: Path, left: Fields) -> Path:
    entries = left.get("volumeMounts")  # not searched: an update may have a finding for each entry
    if type(entries) is not list or not path or type(path[0]) is not int or not -1 < path[0] < len(entries):
        return (*_MAIN, "volumeMounts")
    entry = entries[path[0]]
    if type(entry) is not dict:
        return (*_MAIN, "volumeMounts")
    member = {"name": "name", "mountPoint": "mountPath"}.get(str(path[1]) if len(path) > 1 else "")
    if is_compilation_cache(entry):
        named = {"name": "pvcName", "mountPath": "mountPath"}.get(member or "")
        return ("compilationCache", named) if named else ("compilationCache",)
    index = path[0] - 1 if type(entries[0]) is dict and is_compilation_cache(entries[0]) else path[0]  # the cache is no mount
    return (*_MAIN, "volumeMounts", index, *((member,) if member else ()))


def _sidecar_right(path: Path) -> Path:
    if not path:
        return ("frontendSidecar",)
    if path[0] == "envFromSecret":
        return (*_SIDECAR, "envFrom", 0, "secretRef", "name")
    return (*_SIDECAR, "env" if path[0] == "envs" else path[0], *path[1:])


def _extra_right(path: Path, left: Fields) -> Path:
    if path[:1] == ("mainContainer",):
        return (*_MAIN, *path[1:])
    if path[:1] == ("containers",) and len(path) > 1 and type(path[1]) is int:
        containers = object_items(object_member(left, "extraPodSpec"), "containers")
        if 0 <= path[1] < len(containers):
            return (*_CONTAINERS, Key(str(containers[path[1]].get("name"))), *path[2:])
    return ("podTemplate", "spec", *path)
