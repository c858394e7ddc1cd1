"""Restores v1beta1's other values in a composed template.

v1alpha1 lacks them: order, options of flat mounts, other metadata, a missing main.
"""

from ...api.line import Line
from ..lens.protocol import Fields
from ..lens.structs import object_items, object_member
from . import resources
from .compose import compose
from .content import (
    MAIN,
    SIDECAR,
    container_names,
    content,
    find_container,
    merge_override,
    metadata_content,
    pod_content,
    read_secret,
)
from .mounts import (
    Counterparts,
    MountKey,
    cache_key,
    cache_of,
    flat_key,
    flat_list,
    is_compilation_cache,
    join_mounts,
    mount_key,
    native_mounts,
)


def recall(template: Fields, remainder: Fields, left: Fields, line: Line) -> Fields | None:
    """The template with saved values; None if both are empty."""
    remembered = object_items(object_member(remainder, "spec"), "containers")
    containers = object_items(object_member(template, "spec"), "containers")
    metadata = {**metadata_content(object_member(remainder, "metadata")), **object_member(template, "metadata")}
    # without its main it would be empty, and no flat field needed a template
    alone = len(containers) == 1 and len(template["spec"]) == 1 and not metadata and not _zero(remainder)
    if not (alone and _asks(left)):
        containers = _without_main(containers, remembered, left, line)
    # a container of that name in the overlay is live
    generated = (
        type(left.get("frontendSidecar")) is dict
        and find_container(object_items(object_member(left, "extraPodSpec"), "containers"), SIDECAR) is None
    )
    if generated:
        sidecar = left["frontendSidecar"]
        containers = [_sidecar(each, remembered, sidecar) if each.get("name") == SIDECAR else each for each in containers]
    main = find_container(containers, MAIN)  # further containers of that name aren't composed
    containers = [_mounted(each, remembered, left, line) if each is main else each for each in containers]
    containers = _ordered(containers, remembered, flat_sidecar=generated)
    spec = {name: value for name, value in template["spec"].items() if name != "containers"}
    if containers:
        spec["containers"] = containers
    if not (spec or metadata or _zero(remainder)):
        return None
    return {**({"metadata": metadata} if metadata else {}), **({"spec": spec} if spec else {})}


def _zero(remainder: Fields) -> bool:
    return not pod_content(object_member(remainder, "spec")) and not any(object_member(remainder, "metadata").values())


def _without_main(containers: list[Fields], remembered: list[Fields], left: Fields, line: Line) -> list[Fields]:
    """Remove a main that only the composition added."""
    main = find_container(containers, MAIN)
    if main is None or find_container(remembered, MAIN) is not None or _means_main(left):
        return containers
    members = content(main)
    mounts = members.pop("volumeMounts", [])  # flagged entries after the cache, which alone need no template either
    if mounts and compose(left, line) is not None:
        return containers
    return containers if members else [each for each in containers if each is not main]


def _asks(left: Fields) -> bool:
    """Whether only a flat field without values for main needs a template."""
    return left.get("envFromSecret") is not None or type(left.get("extraPodMetadata")) is dict


def _means_main(left: Fields) -> bool:
    """Whether a flat field concerns the main container although that stays bare."""
    flat, extra = left.get("resources"), object_member(left, "extraPodSpec")
    return (
        (type(flat) is dict and not resources.reproducible(flat))
        or not all(is_compilation_cache(entry) for entry in object_items(left, "volumeMounts"))
        or bool(content(object_member(extra, "mainContainer")))
        or MAIN in container_names(object_items(extra, "containers"))
    )


def _sidecar(container: Fields, remembered: list[Fields], sidecar: Fields) -> Fields:
    """The generated sidecar with the members that v1alpha1 lacks."""
    saved = find_container(remembered, SIDECAR)
    if saved is None:
        return container
    members = content(saved)
    extra = {name: value for name, value in members.items() if name not in ("image", "args", "env")}
    sources = object_items(extra, "envFrom")
    if sources and read_secret(sources) != (sidecar.get("envFromSecret") or ""):  # an edit of v1alpha1
        del extra["envFrom"]
    out: Fields = merge_override(container, extra)
    return {**{name: value for name, value in saved.items() if name not in members}, **out}


def _ordered(containers: list[Fields], remembered: list[Fields], *, flat_sidecar: bool) -> list[Fields]:
    """v1beta1's order as far as v1alpha1 has none: the places of main and of the generated sidecar."""
    order: dict[str | None, list[int]] = {}
    for index, name in reversed(list(enumerate(container_names(remembered)))):
        order.setdefault(name, []).append(index)
    order.setdefault(MAIN, [-1])  # the default place in a composition
    mine = container_names(containers)
    if len(remembered) < 2 or len(mine) < 2 or any(name not in order for name in mine):
        return containers
    # of containers that share a name the first takes the first place, and so on
    places = [order[name].pop() if len(order[name]) > 1 else order[name][0] for name in mine]
    free = {MAIN, SIDECAR} if flat_sidecar else {MAIN}
    bound: list[int] = []
    for name, where in zip(mine, places, strict=True):
        if name not in free:
            bound.append(where)
        free.discard(str(name))  # only the first of a name is free
    if bound != sorted(bound):
        return containers
    return [container for _, container in sorted(zip(places, containers, strict=True), key=lambda pair: pair[0])]


def _mounted(main: Fields, remembered: list[Fields], left: Fields, line: Line) -> Fields:
    """Main with v1beta1's mounts if v1alpha1's match, else with the options of mounts that still exist."""
    saved = find_container(remembered, MAIN)
    entries = object_items(left, "volumeMounts")
    over = object_items(object_member(object_member(left, "extraPodSpec"), "mainContainer"), "volumeMounts")
    live = join_mounts(over, entries, cached=True) if over else native_mounts(entries, cached=True)
    theirs = object_items(saved or {}, "volumeMounts")
    if saved is None or not live or (over and line < Line.V1_3):
        return main
    cache = cache_of(entries)
    if not over and flat_list(cache, theirs) == flat_list(cache, live):
        chosen = theirs
    else:
        flat, known = {flat_key(entry) for entry in entries}.difference(map(mount_key, over)), Counterparts(theirs)
        unlisted = None if not cache or cache_key(cache) in known or cache_key(cache) not in flat else cache_key(cache)
        chosen = [_optioned(mount, known, flat) for mount in live if mount_key(mount) != unlisted]
    return _with_mounts(main, chosen)


def _with_mounts(main: Fields, mounts: list[Fields]) -> Fields:
    if not mounts and not object_items(main, "volumeMounts"):
        return main  # a list of nulls has no mount, and stays
    out = {name: value for name, value in main.items() if name != "volumeMounts"}
    if mounts:
        out["volumeMounts"] = mounts
    return out


def _optioned(mount: Fields, theirs: Counterparts, flat: set[MountKey]) -> Fields:
    if mount_key(mount) not in flat:
        return mount
    counterpart = theirs.of(mount)
    if counterpart is None:
        return mount
    return {**mount, **{name: value for name, value in counterpart.items() if name not in ("name", "mountPath")}}
