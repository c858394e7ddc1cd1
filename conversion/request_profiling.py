"""The lens between the left side's profiling configuration and the right side's sections: a job, and a free-form blob.

Of the blob only leaves are projected: an object without typed members makes no section on the right, so a section can be deleted there
while members of the left are kept.
"""

from typing import Any, Final

from ..api.line import Line
from ..api.paths import Path
from .difference import are_identical
from .lens.protocol import Context, Fields
from .lens.simple import Route, Routes
from .lens.structs import object_of

# leaf of the blob's `sla` -> section on the right that has it under the same name
TARGETS: Final = {"ttft": "sla", "itl": "sla", "optimizationType": "sla", "isl": "workload", "osl": "workload"}
# member of the blob's `deployment.modelCache` -> member of the right `modelCache`
CACHE: Final = {"pvcName": "pvcName", "modelPathInPvc": "pvcModelPath", "pvcMountPath": "pvcMountPath"}
_DIRECTIONS: Final = ("latency", "throughput")
_INT32: Final = 2**31


def project(blob: Fields, remainder: Fields, out: Fields) -> Fields:
    """Write typed members into the sections of `out`, and return the rest of the blob.

    `remainder` is the saved right side: a direction that its schema doesn't allow is restored unless it changed.
    """
    members = dict(blob)
    _project_targets(members, remainder, out)
    _project_cache(members, out)
    planner = members.get("planner")
    if planner and type(planner) is dict:
        out.setdefault("features", {})["planner"] = members.pop("planner")
    return members


def _project_targets(members: Fields, remainder: Fields, out: Fields) -> None:
    targets = members.get("sla")
    if type(targets) is not dict:
        return
    remaining = dict(targets)
    for name, section in TARGETS.items():
        value = targets.get(name)
        if value is not None and (has_target(name, value) or are_identical(value, object_of(remainder.get(section)).get(name))):
            # tokens are integers on the right; typed readers refuse 100.0
            out.setdefault(section, {})[name] = int(value) if section == "workload" else value
            del remaining[name]
    _shrink(members, "sla", targets, remaining)


def _project_cache(members: Fields, out: Fields) -> None:
    deployment = object_of(members.get("deployment"))
    cache = deployment.get("modelCache")
    if type(cache) is not dict:
        return
    remaining = dict(cache)
    for name, other in CACHE.items():
        value = cache.get(name)
        if value and type(value) is str:
            out.setdefault("modelCache", {})[other] = value
            del remaining[name]
    if len(remaining) < len(cache):
        smaller = dict(deployment)
        _shrink(smaller, "modelCache", cache, remaining)
        _shrink(members, "deployment", deployment, smaller)


def _shrink(holder: Fields, name: str, before: Fields, after: Fields) -> None:
    """Put the smaller object in its place, or remove one that became empty; one that was empty before stays."""
    if after:
        holder[name] = after
    elif before:
        del holder[name]


def has_target(name: str, value: Any) -> bool:
    """Whether a leaf of the blob's `sla` has an equivalent on the right; fractions and overflows of token counts don't."""
    if name == "optimizationType":
        return type(value) is str and value in _DIRECTIONS
    if TARGETS[name] == "sla":
        return type(value) in (int, float)
    whole = type(value) is int or (type(value) is float and value.is_integer())
    return bool(whole and -_INT32 <= value < _INT32)


def collect(sections: Fields, remainder: Any, save: Fields) -> Any:
    """The blob of the sections and the saved rest of an earlier blob; None if there is none.

    Sections override; other members of the same objects stay. A direction that the way back would not recognise is saved.
    """
    blob = project(remainder, {}, {}) if type(remainder) is dict else remainder
    targets = {name: value for name, section in TARGETS.items() if _writes(name, value := object_of(sections.get(section)).get(name))}
    if targets:
        blob = {**object_of(blob), "sla": {**object_of(object_of(blob).get("sla")), **targets}}
        if "optimizationType" in targets and not has_target("optimizationType", targets["optimizationType"]):
            save.setdefault("sla", {})["optimizationType"] = targets["optimizationType"]
    section = object_of(sections.get("modelCache"))
    cache = {name: value for name, other in CACHE.items() if (value := section.get(other)) and type(value) is str}
    if cache:
        deployment = object_of(object_of(blob).get("deployment"))
        blob = {**object_of(blob), "deployment": {**deployment, "modelCache": {**object_of(deployment.get("modelCache")), **cache}}}
    planner = object_of(sections.get("features")).get("planner")
    if planner and type(planner) is dict:
        blob = {**object_of(blob), "planner": planner}
    return blob


def _writes(name: str, value: Any) -> bool:
    """Whether a member of a section is written to the blob: if it round-trips, and any direction, as in the Go operator."""
    if name == "optimizationType":
        return bool(value) and type(value) is str
    return value is not None and has_target(name, value) and (TARGETS[name] == "sla" or type(value) is int)


def to_job(config: Fields, remainder: Any, line: Line) -> Fields | None:
    """The job of the left side, merged into a saved one; None if both are empty.

    Resources, tolerations and node selector are never taken from the saved job: clearing them on the left clears them.
    """
    resources, tolerations, selector = config.get("resources"), config.get("tolerations"), config.get("nodeSelector")
    scheduling: Fields = {}
    if tolerations and type(tolerations) is list:
        scheduling["tolerations"] = tolerations
    if selector and type(selector) is dict:
        scheduling["nodeSelector"] = selector
    base = remainder_of(remainder, line, saved=True) if type(remainder) is dict else {}
    if not base and not scheduling and type(resources) is not dict:
        return None
    template = object_of(base.get("template"))
    pod = {**object_of(template.get("spec")), **scheduling}
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
    container = containers[where]
    made = {**container, **({} if container.get("name") else {"name": name}), "resources": resources}
    return [*containers[:where], made, *containers[where + 1 :]]


def _profiler(containers: Any, line: Line) -> int | None:
    """The place of the container of the resources: the first one, since line 1.3 the one of that name, or the first if it has none."""
    if type(containers) is not list or not containers:
        return None
    if line >= Line.V1_3:
        for index, container in enumerate(containers):
            if type(container) is dict and container.get("name") == PROFILER:
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
        trimmed = [_trimmed(container, first=index == where) for index, container in enumerate(containers)]
        pod["containers"] = trimmed
        if _lone_and_bare(trimmed) or (line >= Line.V1_3 and not saved and _is_resource_container(containers)):
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


def _is_resource_container(containers: list[Any]) -> bool:
    """Whether the containers are the one that line 1.3 makes of resources."""
    container = containers[0]
    return (
        len(containers) == 1
        and type(container) is dict
        and container.get("name") == PROFILER
        and len(container) == 2
        and type(container.get("resources")) is dict
    )


def _lone_and_bare(containers: list[Any]) -> bool:
    if len(containers) != 1 or type(containers[0]) is not dict:
        return False
    # an empty object is content for a typed decoder's pointers, which are all but the resources
    return not any(value or (type(value) is dict and name != "resources") for name, value in containers[0].items())


def _filled(holder: Fields, *names: str) -> Fields:
    return {name: value for name, value in holder.items() if value is not None and (value or name not in names)}


_CONFIG: Final = ("profilingConfig", "config")
_POD: Final = ("overrides", "profilingJob", "template", "spec")
_ASIDE: Final = "kept aside"
_SOURCES: Final = ("configMapRef", "outputPVC")
# In the remainder of the right side: the line by which its job's container of the resources was chosen, where lines choose different ones.
BY_LINE: Final = "profilerLine"
_RIGHT_ONLY: Final = (
    ("workload", "concurrency"),
    ("workload", "requestRate"),
    ("sla", "e2eLatency"),
    ("overrides", "dgd"),
    ("overrides", "trustRemoteCode"),  # both of line 1.6: inferred
    ("features", "kvRouter"),
)

_ROUTES: Final = (
    Route(("profilingConfig", "profilerImage"), ("image",), "renamed"),
    Route(("deploymentOverrides", "workersImage"), ("image",), "image when there is no profilerImage; kept aside otherwise"),
    Route(("useMocker",), ("features", "mocker"), "true makes an enabled mocker", whole=False),
    Route(("useMocker",), ("features", "mocker", "enabled"), "a switch; a disabled mocker is kept aside", whole=False),
    Route((*_CONFIG, "planner"), ("features", "planner"), "moved, unless empty"),
    Route((*_CONFIG, "sla"), ("sla",), "a section for its typed members; others are kept aside", whole=False),
    Route((*_CONFIG, "sla"), ("workload",), "a section for the lengths", whole=False),
    *(Route((*_CONFIG, "sla", name), (section, name), "moved, when it has the type of the section") for name, section in TARGETS.items()),
    Route((*_CONFIG, "deployment", "modelCache"), ("modelCache",), "a section for its typed members", whole=False),
    *(Route((*_CONFIG, "deployment", "modelCache", name), ("modelCache", other), "moved, unless empty") for name, other in CACHE.items()),
    Route(("profilingConfig", "resources"), (*_POD, "containers", 0, "resources"), "the first container's"),
    Route(("profilingConfig", "tolerations"), (*_POD, "tolerations"), "moved, unless empty"),
    Route(("profilingConfig", "nodeSelector"), (*_POD, "nodeSelector"), "moved, unless empty"),
    *(Route(("profilingConfig", name), (), _ASIDE) for name in _SOURCES),
    *(Route(("deploymentOverrides", name), (), _ASIDE) for name in ("name", "namespace", "labels", "annotations")),
    *(Route((), steps, _ASIDE) for steps in _RIGHT_ONLY),
)


class Profiling(Routes):
    """The lens of the request members that correspond many to many."""

    left: tuple[str, ...] = ("useMocker", "profilingConfig", "deploymentOverrides")
    right: tuple[str, ...] = ("image", "modelCache", "workload", "sla", "overrides", "features")

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Project typed members, and save the rest in the form of the Go operator."""
        config, overrides = object_of(left.get("profilingConfig")), object_of(left.get("deploymentOverrides"))
        aside = {name: config[name] for name in _SOURCES if config.get(name) not in (None, "")}
        if config:
            _forward_config(config, right, remainder, aside)
        image = config.get("profilerImage") or overrides.get("workersImage")
        if image and type(image) is str:
            right["image"] = image
        for section, name in _RIGHT_ONLY if remainder else ():
            if (value := object_of(remainder.get(section)).get(name)) is not None:
                right.setdefault(section, {})[name] = value
        line = next((line for line in Line if line == remainder.get(BY_LINE)), context.line)
        job = to_job(config, object_of(remainder.get("overrides")).get("profilingJob"), line)
        if job:
            right.setdefault("overrides", {})["profilingJob"] = job
        _forward_mocker(left, right, remainder)
        if aside:
            save["profilingConfig"] = aside
        if type(left.get("deploymentOverrides")) is dict:
            save["deploymentOverrides"] = overrides

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Collect the sections in the left form; saved values fill only the gaps."""
        remembered = object_of(remainder.get("profilingConfig"))
        config: Fields = {name: value for name in _SOURCES if (value := remembered.get(name)) not in (None, "")}
        blob = collect(right, remembered.get("config"), save)
        if blob is not None:
            config["config"] = blob
        job = object_of(right.get("overrides")).get("profilingJob")
        if type(job) is dict:
            from_job(job, config, context.line)
            if rest := remainder_of(job, context.line):
                save.setdefault("overrides", {})["profilingJob"] = rest
                if is_ambiguous(job):
                    save[BY_LINE] = str(context.line)
        for section, name in _RIGHT_ONLY:
            if (value := object_of(right.get(section)).get(name)) is not None:
                save.setdefault(section, {})[name] = value
        _backward_image(right.get("image"), config, left, remainder.get("deploymentOverrides"))
        _backward_mocker(right, left, save)
        if config:
            left["profilingConfig"] = config

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """The place in the sections; a workers' image hidden by another image has none."""
        if path[:2] == ("deploymentOverrides", "workersImage") and object_of(left.get("profilingConfig")).get("profilerImage"):
            return None
        return super().to_right(path, left)


def _forward_config(config: Fields, right: Fields, remainder: Fields, aside: Fields) -> None:
    blob = config.get("config")
    if type(blob) is dict:
        rest = project(blob, remainder, right)
        if rest or not blob:
            aside["config"] = rest
    elif blob is not None:
        aside["config"] = blob  # no reader projects it, and the Go reader ignores it


def _forward_mocker(left: Fields, right: Fields, remainder: Fields) -> None:
    mocker = object_of(remainder.get("features")).get("mocker")
    if left.get("useMocker") is True:
        mocker = {"enabled": True}
    elif type(mocker) is not dict or mocker.get("enabled") is True:
        return
    right.setdefault("features", {})["mocker"] = mocker


def _backward_mocker(right: Fields, left: Fields, save: Fields) -> None:
    mocker = object_of(right.get("features")).get("mocker")
    if type(mocker) is not dict:
        return
    if mocker.get("enabled") is True:
        left["useMocker"] = True
    else:
        save.setdefault("features", {})["mocker"] = mocker


def _backward_image(image: Any, config: Fields, left: Fields, remainder: Any) -> None:
    """One image on the right is two on the left: the live one is the profiler's, and a saved workers' one is restored only beside it.

    If only the workers' image made the live one, the engine removes the profiler's.
    """
    overrides: Fields = dict(object_of(remainder))
    if image and type(image) is str:
        config["profilerImage"] = image
    elif overrides.get("workersImage"):
        del overrides["workersImage"]  # it would restore the removed image
    if overrides or remainder == {}:
        left["deploymentOverrides"] = overrides


PROFILING: Final = Profiling(*_ROUTES)
