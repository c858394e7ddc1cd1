"""Builds a pod template from the flat fields of v1alpha1, without remainder."""

from typing import Any, Final

from ...api.line import Line
from ..lens.protocol import Fields
from ..lens.structs import object_items, object_member
from . import resources
from .content import MAIN, SIDECAR, content, find_container, merge_env, merge_override, pod_content, secret_source
from .mounts import is_compilation_cache, join_mounts, native_mounts

_JOINED_SINCE: Final = Line.V1_3  # the mounts of main and the flat ones; before, main's replaced them
PROBES: Final = ("livenessProbe", "readinessProbe")
_MAKING: Final = ("resources", "envFromSecret", "livenessProbe", "readinessProbe", "extraPodMetadata", "frontendSidecar")


def compose(left: Fields, line: Line) -> Fields | None:
    """The template of a component; None if no field needs one."""
    pod, over = overlay(left)
    return compose_known(left, pod, over, line, forced=False, mains=False)


def overlay(left: Fields) -> tuple[Fields, Fields]:
    """The pod and the main container of `extraPodSpec`."""
    extra = left.get("extraPodSpec")
    if not extra or type(extra) is not dict:
        return {}, {}
    main = extra.get("mainContainer")
    return pod_content(extra) if len(extra) > 1 or main is None else {}, content(main) if type(main) is dict else {}


def compose_known(left: Fields, pod: Fields, over: Fields, line: Line, *, forced: bool, mains: bool) -> Fields | None:
    """The template of a component with a known `overlay`; None if no field needs one and it isn't `forced`.

    `mains` keeps further containers named `main`, which can only come from v1beta1.
    """
    if not (forced or pod or over or _needs_template(left)):
        return None
    others = object_items(pod, "containers") if pod else []
    if not mains and others and find_container(others, MAIN) is not None:
        others = [container for container in others if container.get("name") != MAIN]
    containers = [_main(left, over, line), *others]
    sidecar = left.get("frontendSidecar")
    if type(sidecar) is dict and find_container(others, SIDECAR) is None:
        containers.append(compose_sidecar(sidecar))
    template: Fields = {"spec": {**pod, "containers": containers}}
    if metadata := _metadata(left):
        template["metadata"] = metadata
    return template


def _needs_template(left: Fields) -> bool:
    """Whether a flat field needs a template."""
    for name in _MAKING:
        if left.get(name) is not None:
            return True
    if left.get("envs"):
        return True
    return bool(left.get("volumeMounts")) and not all(is_compilation_cache(entry) for entry in object_items(left, "volumeMounts"))


def _metadata(left: Fields) -> Fields:
    extra = left.get("extraPodMetadata")
    if type(extra) is not dict:
        return {}
    return {name: extra[name] for name in ("annotations", "labels") if extra.get(name)}


def _main(left: Fields, over: Fields, line: Line) -> Fields:
    """The main container: the flat fields overridden by the overlay, whose members have content as in `content`.

    A list of nulls in the overlay overrides nothing, and stays if there are no other values.
    """
    main: Fields = {"name": MAIN, **over}
    flat, secret = left.get("resources"), left.get("envFromSecret")
    if flat is not None or "resources" in over:
        _put(main, "resources", effective_resources(flat if type(flat) is dict else {}, object_member(over, "resources")))
    if "env" in over or left.get("envs") is not None:
        _put(main, "env", effective_env(left, over))
    if "envFrom" in over:
        _put(main, "envFrom", over["envFrom"] if object_items(over, "envFrom") else secret_source(secret) or over["envFrom"])
    elif secret is not None and (sources := secret_source(secret)):
        main["envFrom"] = sources
    if "volumeMounts" in over or left.get("volumeMounts") is not None:
        above, entries = object_items(over, "volumeMounts") if over else [], object_items(left, "volumeMounts")
        mounts = join_mounts(above, entries) if line >= _JOINED_SINCE else above or native_mounts(entries)
        _put(main, "volumeMounts", mounts or over.get("volumeMounts"))
    for name in PROBES:
        if left.get(name) is not None:
            main[name] = merge_override(left[name], over.get(name))
    return main


def _put(main: Fields, name: str, value: object) -> None:
    if value:
        main[name] = value
    else:
        main.pop(name, None)


def effective_env(flat: Fields, over: Fields) -> Any:
    """Main's env from the flat one and the overlay's."""
    if "env" in over and (entries := object_items(over, "env")):
        merge = merge_env(object_items(flat, "envs") if "envs" in flat else [], entries)
        return over["env"] if merge is entries else merge  # with its nulls
    envs = flat.get("envs")
    return envs if envs and type(envs) is list else over.get("env")


def effective_resources(flat: Fields, over: Fields) -> Fields:
    """Main's resources from the flat ones and the overlay's."""
    amounts: Fields = resources.native(flat) if flat else {}
    return resources.override(amounts, resources.normalize_resources(over)) if over else amounts


def compose_sidecar(sidecar: Fields) -> Fields:
    """The container of a flat frontend sidecar."""
    container: Fields = {"name": SIDECAR}
    for name, to in (("image", "image"), ("args", "args"), ("envs", "env")):
        if sidecar.get(name):
            container[to] = sidecar[name]
    if sources := secret_source(sidecar.get("envFromSecret")):
        container["envFrom"] = sources
    return container
