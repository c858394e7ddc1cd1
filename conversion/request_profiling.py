"""The lens between the left side's profiling configuration and the right side's sections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ..api.line import Line
from ..api.paths import Path
from .lens.protocol import Context, Fields, Row
from .reading import object_of
from .request_blob import CACHE, TARGETS, collect, project
from .request_job import from_job, is_ambiguous, remainder_of, to_job
from .request_routes import Route, Routes

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

ROUTES: Final = Routes(
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


class Profiling:
    """The lens of the request members that correspond many to many."""

    left: tuple[str, ...] = ("useMocker", "profilingConfig", "deploymentOverrides")
    right: tuple[str, ...] = ("image", "modelCache", "workload", "sla", "overrides", "features")

    def forward(self, left: Fields, right: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Project typed members, and save the rest in the form of the Go operator."""
        config, overrides = object_of(left.get("profilingConfig")), object_of(left.get("deploymentOverrides"))
        aside = {name: config[name] for name in _SOURCES if config.get(name) not in (None, "")}
        if config:
            _forward_config(config, right, kept, aside)
        image = config.get("profilerImage") or overrides.get("workersImage")
        if image and type(image) is str:
            right["image"] = image
        for section, name in _RIGHT_ONLY if kept else ():
            if (value := object_of(kept.get(section)).get(name)) is not None:
                right.setdefault(section, {})[name] = value
        line = next((line for line in Line if line == kept.get(BY_LINE)), context.line)
        job = to_job(config, object_of(kept.get("overrides")).get("profilingJob"), line)
        if job:
            right.setdefault("overrides", {})["profilingJob"] = job
        _forward_mocker(left, right, kept)
        if aside:
            save["profilingConfig"] = aside
        if type(left.get("deploymentOverrides")) is dict:
            save["deploymentOverrides"] = overrides

    def backward(self, right: Fields, left: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Collect the sections in the left form; saved values fill only the gaps."""
        remembered = object_of(kept.get("profilingConfig"))
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
        _backward_image(right.get("image"), config, left, kept.get("deploymentOverrides"))
        _backward_mocker(right, left, save)
        if config:
            left["profilingConfig"] = config

    def to_left(self, path: Path, right: Fields) -> Path | None:
        """The most exact place in the profiling configuration."""
        return ROUTES.to_left(path)

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """The place in the sections; a workers' image hidden by another image has none."""
        if path[:2] == ("deploymentOverrides", "workersImage") and object_of(left.get("profilingConfig")).get("profilerImage"):
            return None
        return ROUTES.to_right(path)

    def rows(self) -> Iterator[Row]:
        """The routes."""
        return ROUTES.rows()


def _forward_config(config: Fields, right: Fields, kept: Fields, aside: Fields) -> None:
    blob = config.get("config")
    if type(blob) is dict:
        rest = project(blob, kept, right)
        if rest or not blob:
            aside["config"] = rest
    elif blob is not None:
        aside["config"] = blob  # no reader projects it, and the Go reader ignores it


def _forward_mocker(left: Fields, right: Fields, kept: Fields) -> None:
    mocker = object_of(kept.get("features")).get("mocker")
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


def _backward_image(image: Any, config: Fields, left: Fields, kept: Any) -> None:
    """One image on the right is two on the left: the live one is the profiler's, and a saved workers' one is restored only beside it.

    If only the workers' image made the live one, the engine removes the profiler's.
    """
    overrides: Fields = dict(object_of(kept))
    if image and type(image) is str:
        config["profilerImage"] = image
    elif overrides.get("workersImage"):
        del overrides["workersImage"]  # it would restore the removed image
    if overrides or kept == {}:
        left["deploymentOverrides"] = overrides


PROFILING: Final = Profiling()
