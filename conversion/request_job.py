"""The profiling job: three members of the left profiling configuration, and their places in a job on the right."""

from __future__ import annotations

from typing import Any, Final

from ..api.line import Line
from .lens.protocol import Fields
from .reading import object_of


def to_job(config: Fields, kept: Any, line: Line) -> Fields | None:
    """The job of the left side, merged into a saved one; None if both are empty.

    Resources, tolerations and node selector are never taken from the saved job: clearing them on the left clears them.
    """
    resources, tolerations, selector = config.get("resources"), config.get("tolerations"), config.get("nodeSelector")
    asked: Fields = {}
    if tolerations and type(tolerations) is list:
        asked["tolerations"] = tolerations
    if selector and type(selector) is dict:
        asked["nodeSelector"] = selector
    base = remainder_of(kept, line, saved=True) if type(kept) is dict else {}
    if not base and not asked and type(resources) is not dict:
        return None
    template = object_of(base.get("template"))
    pod = {**object_of(template.get("spec")), **asked}
    if type(resources) is dict:
        pod["containers"] = _with_resources(pod.get("containers"), resources, line)
    if pod:
        pod.setdefault("containers", [])  # the schema of the right side requires it
    return {**base, "template": {**template, "spec": pod}} if pod else base


def _with_resources(containers: Any, resources: Fields, line: Line) -> list[Any]:
    name, where = PROFILER if line >= Line.V1_3 else "", _profiler(containers, line)
    if where is None:
        others = containers if line >= Line.V1_3 and type(containers) is list else []
        return [{"name": name, "resources": resources}, *others]
    found = containers[where]
    made = {**found, **({} if found.get("name") else {"name": name}), "resources": resources}
    return [*containers[:where], made, *containers[where + 1 :]]


def _profiler(containers: Any, line: Line) -> int | None:
    """The place of the container of the resources: the first one, since line 1.3 the one of that name, or the first if it has none."""
    if type(containers) is not list or not containers:
        return None
    if line >= Line.V1_3:
        for index, one in enumerate(containers):
            if type(one) is dict and one.get("name") == PROFILER:
                return index
    first = containers[0]
    return 0 if type(first) is dict and (line < Line.V1_3 or not first.get("name")) else None


def is_ambiguous(job: Fields) -> bool:
    """Whether the lines take different containers for that of the resources."""
    containers = object_of(object_of(job.get("template")).get("spec")).get("containers")
    return len({_profiler(containers, line) for line in Line}) > 1


def from_job(job: Any, config: Fields, line: Line) -> None:
    """Write the three members of the left side into `config`."""
    pod = object_of(object_of(object_of(job).get("template")).get("spec"))
    containers, tolerations, selector = pod.get("containers"), pod.get("tolerations"), pod.get("nodeSelector")
    if type(containers) is list and (where := _profiler(containers, line)) is not None:
        resources = containers[where].get("resources")
        if type(resources) is dict:
            config["resources"] = resources
        elif _lone_and_bare(containers):
            config["resources"] = {}  # an empty container means empty resources
    if tolerations and type(tolerations) is list:
        config["tolerations"] = tolerations
    if selector and type(selector) is dict:
        config["nodeSelector"] = selector


def remainder_of(job: Fields, line: Line, *, saved: bool = False) -> Fields:
    """The job without the members of the left side, and without empty members of typed encoders; {} if nothing is left.

    Since line 1.3 an empty `profiler` is content, unless the resources of the left side make it again; of a `saved` job it always is.
    """
    template = object_of(job.get("template"))
    pod = {name: value for name, value in object_of(template.get("spec")).items() if not (name in _TAKEN and value) and value is not None}
    containers = pod.get("containers")
    if type(containers) is list and containers:
        where = _profiler(containers, line)
        trimmed = [_trimmed(one, first=index == where) for index, one in enumerate(containers)]
        pod["containers"] = trimmed
        if _lone_and_bare(trimmed) or (line >= Line.V1_3 and not saved and _made(containers)):
            del pod["containers"]
    elif containers == []:
        del pod["containers"]
    template = _filled({**template, "spec": pod}, "metadata", "spec")
    return _filled({**job, "template": template}, "template")


PROFILER: Final = "profiler"  # what line 1.3 calls the container of the resources
_TAKEN: Final = ("tolerations", "nodeSelector")


def _trimmed(container: Any, *, first: bool) -> Any:
    if type(container) is not dict or "resources" not in container or (container["resources"] and not first):
        return container
    return {name: value for name, value in container.items() if name != "resources"}


def _made(containers: list[Any]) -> bool:
    """Whether the containers are the one that line 1.3 makes of resources."""
    one = containers[0]
    return (
        len(containers) == 1 and type(one) is dict and one.get("name") == PROFILER and len(one) == 2 and type(one.get("resources")) is dict
    )


def _lone_and_bare(containers: list[Any]) -> bool:
    if len(containers) != 1 or type(containers[0]) is not dict:
        return False
    # an empty object is content for a typed decoder's pointers, which are all but the resources
    return not any(value or (type(value) is dict and name != "resources") for name, value in containers[0].items())


def _filled(holder: Fields, *names: str) -> Fields:
    return {name: value for name, value in holder.items() if value is not None and (value or name not in names)}
