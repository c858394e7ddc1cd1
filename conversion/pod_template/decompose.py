"""Splits a pod template into the flat fields of v1alpha1, without remainder."""

from typing import Final

from ..lens.protocol import Fields
from ..lens.structs import object_items, object_member
from . import resources
from .compose import PROBES, compose_sidecar
from .content import MAIN, SIDECAR, container_names, content, find_container, pod_content, read_plain_secret, read_secret
from .mounts import flat_list


class TemplateParts:
    """The parts of a component's pod; `main` is None if the template has no such container."""

    __slots__ = ("cache", "extra", "extra_main", "flat", "main", "metadata", "pod", "present")

    def __init__(
        self, present: bool, main: Fields | None, extra: list[Fields], pod: Fields, metadata: Fields, cache: Fields | None
    ) -> None:
        self.present = present  # there is a template
        self.main = main  # main's content, with canonical resources
        self.extra = extra  # the other containers
        self.pod = pod  # the pod spec without containers
        self.metadata = metadata  # template metadata, whole
        self.cache = cache
        self.flat: Fields = {}  # the flat members
        self.extra_main: Fields = {}  # what main has beside the flat members


def split_template(right: Fields, *, secrets: bool) -> TemplateParts:
    """Split a component; values are shared with it. `secrets`: whether a plain secret as main's only source is a flat member."""
    present = type(right.get("podTemplate")) is dict
    template = object_member(right, "podTemplate")
    spec = object_member(template, "spec")
    containers = object_items(spec, "containers")
    main_container = find_container(containers, MAIN)
    extra = (
        [container for container in containers if container is not main_container] if len(containers) > 1 or main_container is None else []
    )
    main = None if main_container is None else main_content(main_container)
    cache = right.get("compilationCache")
    parts = TemplateParts(
        present,
        main,
        extra,
        {name: value for name, value in spec.items() if value is not None and name != "containers"},
        object_member(template, "metadata"),
        cache if type(cache) is dict else None,
    )
    _flatten(parts, secrets=secrets)
    return parts


def main_content(main: Fields) -> Fields:
    """Main's content, with canonical resources."""
    out = content(main)
    if "resources" in out:
        out["resources"] = resources.normalize_resources(object_member(out, "resources"))
        if not out["resources"]:
            del out["resources"]
    return out


def _flatten(parts: TemplateParts, *, secrets: bool) -> None:
    """Move members with a flat equivalent out of main."""
    main, flat = parts.main or {}, parts.flat
    over = parts.extra_main = dict(main)
    if amounts := over.pop("resources", None):
        flat["resources"] = resources.flat(amounts)
    mounts = object_items(main, "volumeMounts")
    if entries := flat_list(parts.cache, mounts):
        flat["volumeMounts"] = entries
    if mounts:  # a list of nulls has no mount, and stays
        del over["volumeMounts"]
    if (env := over.pop("env", None)) is not None:
        flat["envs"] = env
    if (
        secrets
        and type(sources := over.get("envFrom")) is list
        and len(sources) == 1
        and (secret := read_plain_secret(object_items(over, "envFrom")))
    ):
        flat["envFromSecret"] = secret
        del over["envFrom"]
    for name in PROBES:
        if (probe := over.pop(name, None)) is not None:
            flat[name] = probe


def move_sidecar(parts: TemplateParts, remainder: Fields) -> None:
    """Turn the generated sidecar container into the flat member; `remainder` is that member as saved.

    Without the container nothing is restored: it was removed. Two such containers aren't generated.
    """
    container = find_container(parts.extra, SIDECAR)
    if container is None or container_names(parts.extra).count(SIDECAR) > 1:
        return
    sources = object_items(container, "envFrom")
    sidecar = {name: value for name, value in remainder.items() if name not in _OF_SIDECAR}
    for name, to in (("image", "image"), ("args", "args"), ("env", "envs")):
        if container.get(name):
            sidecar[to] = container[name]
    secret = read_secret(sources)
    if secret or (remainder.get("envFromSecret") == "" and not sources):
        sidecar["envFromSecret"] = secret
    parts.flat["frontendSidecar"] = remainder if compose_sidecar(remainder) == compose_sidecar(sidecar) else sidecar
    parts.extra = [other for other in parts.extra if other.get("name") != SIDECAR]


def is_plain_sidecar(sidecar: Fields) -> bool:
    """Whether a flat sidecar round-trips without saved values."""
    return all(value and name in _OF_SIDECAR for name, value in sidecar.items())


def is_plain_container(container: Fields | None) -> bool:
    """Whether a flat sidecar can represent a container."""
    if container is None or not container.keys() <= {"name", "image", "args", "env", "envFrom"}:
        return False
    sources = container.get("envFrom")
    return sources is None or (
        type(sources) is list and len(sources) == 1 and read_plain_secret(object_items(container, "envFrom")) is not None
    )


_OF_SIDECAR: Final = frozenset({"image", "args", "envs", "envFromSecret"})


def join_parts(parts: TemplateParts) -> Fields:
    """The flat fields of a component."""
    left = parts.flat
    pod = {**parts.pod, "containers": parts.extra} if parts.extra else parts.pod
    extra = pod_content(pod) if pod else {}
    if parts.extra_main:
        extra["mainContainer"] = parts.extra_main
    if extra:
        left["extraPodSpec"] = extra
    if parts.metadata and (labelled := {name: parts.metadata[name] for name in ("annotations", "labels") if parts.metadata.get(name)}):
        left["extraPodMetadata"] = labelled
    return left
