"""The content of a pod template that its flat fields lack: the sparse template to save, in the Go operator's form."""

from typing import Final

from ...api.line import Line
from ..lens.protocol import Context, Fields
from ..lens.structs import object_items, object_member
from .compose import compose
from .content import MAIN, container_names, content, find_container, metadata_content, pod_content
from .decompose import TemplateParts, main_content
from .mounts import Counterparts, is_compilation_cache, mount_key, native_mount

_PLACED: Final = frozenset({"name", "mountPath"})


def residue(right: Fields, left: Fields, parts: TemplateParts, reference: object, context: Context) -> Fields | None:
    """The sparse template to save, or None; `reference` is the frontend sidecar's name if that is saved too."""
    if reference is None and _is_in_flat_fields(right, left, parts):
        return None
    rebuilt = compose(left, context.line)
    composed = [] if rebuilt is None else object_items(object_member(rebuilt, "spec"), "containers")
    template = _make_sparse_template(right, parts, reference, composed, rebuilt=rebuilt is not None)
    if context.line < Line.V1_3 or context.has_remainder or parts.cache is None or not composed or _lists_main(template):
        return template
    return _make_sparse_template(right, parts, reference, [_with_caches(container, left) for container in composed], rebuilt=True)


def _lists_main(template: Fields | None) -> bool:
    return find_container(object_items(object_member(template or {}, "spec"), "containers"), MAIN) is not None


def _with_caches(container: Fields, left: Fields) -> Fields:
    """Main as the Go operator composes it, which mounts caches, too: it must learn that the live one doesn't."""
    over = object_items(object_member(object_member(left, "extraPodSpec"), "mainContainer"), "volumeMounts")
    caches = [{"mountPath": "", **native_mount(entry)} for entry in object_items(left, "volumeMounts") if is_compilation_cache(entry)]
    mounts = [*over, *(mount for mount in caches if mount not in over), *(object_items(container, "volumeMounts")[len(over) :])]
    return {**container, "volumeMounts": mounts} if container.get("name") == MAIN else container


def _make_sparse_template(
    right: Fields, parts: TemplateParts, reference: object, composed: list[Fields], *, rebuilt: bool
) -> Fields | None:
    """The sparse template beside the containers that the flat fields make."""
    live = _comparable(object_items(object_member(object_member(right, "podTemplate"), "spec"), "containers"))
    metadata = metadata_content(parts.metadata)
    absent = rebuilt and parts.main is None
    empty = not rebuilt and not live and not pod_content(parts.pod) and not parts.metadata
    named_too = reference is not None and find_container(live, str(reference)) is not None
    if not (metadata or absent or empty or named_too or live != composed):
        return None
    entries = _entries(live, composed, reference, ordered=not rebuilt or _same_order(live, composed))
    if not (metadata or absent or empty or entries):
        return None
    template: Fields = {}
    if metadata:
        template["metadata"] = metadata
    if entries:
        template["spec"] = {"containers": entries}
    return template


def _is_in_flat_fields(right: Fields, left: Fields, parts: TemplateParts) -> bool:
    """Whether the flat fields obviously contain the whole template: a cheap, incomplete check."""
    containers = object_member(right["podTemplate"], "spec").get("containers")
    if not parts.main or parts.cache is not None or "frontendSidecar" in left or not parts.metadata.keys() <= {"labels", "annotations"}:
        return False
    if type(containers) is not list or type(containers[0]) is not dict or containers[0].get("name") != MAIN:
        return False
    if find_container(parts.extra, MAIN) is not None:
        return False
    mounts = object_items(parts.main, "volumeMounts")
    return not mounts or len({mount_key(mount) for mount in mounts if mount.keys() == _PLACED}) == len(mounts)


def _comparable(containers: list[Fields]) -> list[Fields]:
    """Containers with main's resources canonical and without zero values, as composed."""
    main = find_container(containers, MAIN)
    return [{"name": MAIN, **main_content(container)} if container is main else container for container in containers]


def _same_order(live: list[Fields], composed: list[Fields]) -> bool:
    mine, theirs = container_names(live), container_names(composed)
    return mine == (theirs if MAIN in mine else [name for name in theirs if name != MAIN])


def _entries(live: list[Fields], composed: list[Fields], reference: object, *, ordered: bool) -> list[Fields]:
    out: list[Fields] = []
    namesakes = {name: container for container in reversed(composed) if type(name := container.get("name")) is str}
    for container in live:
        other = namesakes.get(str(container.get("name")))
        entry = _entry(container, other)
        if not ordered or (container.get("name") or "") == (reference or "") or len(entry) > 1 or _matters(container, other, entry):
            out.append(entry)
    return out


def _entry(container: Fields, other: Fields | None) -> Fields:
    """The saved part of one container; `other` has the same name in the rebuilt template."""
    entry: Fields = {"name": container.get("name")} if container.get("name") is not None else {}
    if other is None:
        return {**entry, **content(container)}
    if container.get("name") == MAIN:
        theirs = Counterparts(object_items(other, "volumeMounts"))
        if mounts := [_mount_entry(mount, theirs) for mount in object_items(container, "volumeMounts")]:
            entry["volumeMounts"] = mounts
        return entry
    if container == other:
        return entry
    # members that v1alpha1 has for a sidecar are left out, except empty ones
    members = {name: value for name, value in container.items() if not (value and name in ("name", "image", "args", "env"))}
    if members.get("envFrom") == other.get("envFrom"):
        members.pop("envFrom", None)
    return {**entry, **members}


def _mount_entry(mount: Fields, theirs: Counterparts) -> Fields:
    if theirs.of(mount) == mount:
        return {name: mount[name] for name in ("name", "mountPath") if mount.get(name) is not None}
    return mount


def _matters(container: Fields, other: Fields | None, entry: Fields) -> bool:
    """Whether an empty main must still be saved: it is bare, or lacks a mount that the flat fields would add."""
    if container.get("name") != MAIN:
        return False
    if other is None:
        return not content(container)
    if not content(container):
        return True
    mine = {mount_key(mount) for mount in object_items(entry, "volumeMounts")}
    return any(mount_key(mount) not in mine for mount in object_items(other, "volumeMounts"))
