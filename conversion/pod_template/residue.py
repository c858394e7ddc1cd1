"""The content of a pod template that its flat fields lack: the sparse template to save, in the Go operator's form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.pod_template import resources
from dynamo_webhooks.conversion.pod_template.compose import compose
from dynamo_webhooks.conversion.pod_template.content import MAIN, content, metadata_content, named, names, pod_content
from dynamo_webhooks.conversion.pod_template.mounts import Counterparts, flagged, native_mount, place
from dynamo_webhooks.conversion.reading import fields, items

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Context, Fields
    from dynamo_webhooks.conversion.pod_template.decompose import Pieces


_PLACED: Final = frozenset({"name", "mountPath"})


def residue(right: Fields, left: Fields, pieces: Pieces, reference: object, context: Context) -> Fields | None:
    """The sparse template to save, or None; `reference` is the frontend sidecar's name if that is saved too."""
    if reference is None and _told(right, left, pieces):
        return None
    rebuilt = compose(left, context.line)
    made = [] if rebuilt is None else items(fields(rebuilt, "spec"), "containers")
    template = _lacking(right, pieces, reference, made, rebuilt=rebuilt is not None)
    if context.line < Line.V1_5 or context.travelled or pieces.cache is None or not made or _lists_main(template):
        return template
    return _lacking(right, pieces, reference, [_with_caches(one, left) for one in made], rebuilt=True)


def _lists_main(template: Fields | None) -> bool:
    return named(items(fields(template or {}, "spec"), "containers"), MAIN) is not None


def _with_caches(container: Fields, left: Fields) -> Fields:
    """Main as the Go operator composes it, which mounts caches, too: it must learn that the live one doesn't."""
    over = items(fields(fields(left, "extraPodSpec"), "mainContainer"), "volumeMounts")
    caches = [{"mountPath": "", **native_mount(entry)} for entry in items(left, "volumeMounts") if flagged(entry)]
    mounts = [*over, *(mount for mount in caches if mount not in over), *(items(container, "volumeMounts")[len(over) :])]
    return {**container, "volumeMounts": mounts} if container.get("name") == MAIN else container


def _lacking(right: Fields, pieces: Pieces, reference: object, made: list[Fields], *, rebuilt: bool) -> Fields | None:
    """The sparse template beside the containers that the flat fields make."""
    live = _comparable(items(fields(fields(right, "podTemplate"), "spec"), "containers"))
    metadata = metadata_content(pieces.metadata)
    absent = rebuilt and pieces.main is None
    empty = not rebuilt and not live and not pod_content(pieces.pod) and not pieces.metadata
    named_too = reference is not None and named(live, str(reference)) is not None
    if not (metadata or absent or empty or named_too or live != made):
        return None
    entries = _entries(live, made, reference, ordered=not rebuilt or _same_order(live, made))
    if not (metadata or absent or empty or entries):
        return None
    template: Fields = {}
    if metadata:
        template["metadata"] = metadata
    if entries:
        template["spec"] = {"containers": entries}
    return template


def _told(right: Fields, left: Fields, pieces: Pieces) -> bool:
    """Whether the flat fields obviously contain the whole template: a cheap, incomplete check."""
    containers = fields(right["podTemplate"], "spec").get("containers")
    if not pieces.main or pieces.cache is not None or "frontendSidecar" in left or not pieces.metadata.keys() <= {"labels", "annotations"}:
        return False
    if type(containers) is not list or type(containers[0]) is not dict or containers[0].get("name") != MAIN:
        return False
    if named(pieces.rest, MAIN) is not None:
        return False
    mounts = items(pieces.main, "volumeMounts")
    return not mounts or len({place(mount) for mount in mounts if mount.keys() == _PLACED}) == len(mounts)


def _comparable(containers: list[Fields]) -> list[Fields]:
    """Containers with main's resources canonical and without zero values, as composed."""
    out: list[Fields] = []
    first = named(containers, MAIN)
    for container in containers:
        if container is not first:
            out.append(container)
            continue
        main = {"name": MAIN, **content(container)}
        if "resources" in main:
            main["resources"] = resources.settled(fields(main, "resources"))
            if not main["resources"]:
                del main["resources"]
        out.append(main)
    return out


def _same_order(live: list[Fields], made: list[Fields]) -> bool:
    mine, theirs = names(live), names(made)
    return mine == (theirs if MAIN in mine else [name for name in theirs if name != MAIN])


def _entries(live: list[Fields], made: list[Fields], reference: object, *, ordered: bool) -> list[Fields]:
    out: list[Fields] = []
    namesakes = {name: container for container in reversed(made) if type(name := container.get("name")) is str}
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
        theirs = Counterparts(items(other, "volumeMounts"))
        if mounts := [_mount_entry(mount, theirs) for mount in items(container, "volumeMounts")]:
            entry["volumeMounts"] = mounts
        return entry
    if container == other:
        return entry
    # members that v1alpha1 has for a sidecar are left out, except empty ones
    said = {name: value for name, value in container.items() if not (value and name in ("name", "image", "args", "env"))}
    if said.get("envFrom") == other.get("envFrom"):
        said.pop("envFrom", None)
    return {**entry, **said}


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
    mine = {place(mount) for mount in items(entry, "volumeMounts")}
    return any(place(mount) not in mine for mount in items(other, "volumeMounts"))
