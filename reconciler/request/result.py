"""The output of a profiler, read as untrusted text: the objects that may be applied, and those that are shown. Pure."""

import json
from typing import Any, Final, NamedTuple

from ...api.line import Line
from ...conversion.lens.protocol import Fields
from ..render.merge import as_map, string_map
from .annotations import digest_spec, graph_name, read_alpha_fields, read_progress
from .documents import UnreadableError, read, read_documents
from .graph_override import GRAPH, VERSIONS, OverrideError, override_graph, override_of
from .names import EXTRA, OURS, PARETO, REQUEST_UID, RESULT, SPEC, labels_of, output_of

MAX_CHOICE_VALUES: Final = 20_000  # of all configurations to choose from together, those of unreadable ones counted
MAX_CHOICES_BYTES: Final = 200_000  # of JSON in a status; the first ones count
MAX_CONFIG_MAPS: Final = 20  # beside a graph
_MAX_NAMED: Final = 5


class ResultError(Exception):
    """A result that nothing can be made of; the message says why."""


class ProfilingResult(NamedTuple):
    """The objects made from the output of a profiler."""

    graph: Fields  # as it is applied: this module sets name, namespace, labels and annotations
    config_maps: tuple[Fields, ...] = ()  # beside it, without an owner
    other_objects: tuple[Fields, ...] = ()  # the same and everything else beside the graph, as it was written
    ignored: tuple[str, ...] = ()  # kind and name of what isn't applied
    notes: tuple[str, ...] = ()  # what of the request's override has no effect, or more than it says


def read_failure(data: Fields) -> str:
    """Reads the profiler's account of its own failure; empty when there is none."""
    if data.get("profiler_status") != "failed":
        return ""
    return f"profiling failed: {str(data.get('profiler_error') or 'profiler reported failure (no details available)')[:1000]}"


def is_there(data: Fields | None) -> bool:
    """Whether the result has been written."""
    return bool(data) and bool(data and (data.get("profiler_status") or data.get(RESULT)))


def find_result(request: Fields, data: Fields | None) -> Fields | None:
    """Finds the result of a request: in its ConfigMap, or in annotations that the Go operator wrote; None where it is gone."""
    if data and RESULT in data:
        return data
    notes = request["metadata"].get("annotations") or {}
    texts_ = [text for name in (SPEC, EXTRA) if isinstance(text := notes.get(name), str) and text]
    return {RESULT: "\n---\n".join(texts_)} if notes.get(SPEC) else None


def make_result(request: Fields, data: Fields | None, line: Line) -> ProfilingResult:
    """The graph and the ConfigMaps beside it, for the definitions of a line. Costs what `documents` does. Raises: ResultError."""
    where = output_of(request)
    if data is None:
        raise ResultError(f"output ConfigMap {where} not found - profiling may not have completed yet")
    text = data.get(RESULT)
    if not isinstance(text, str):
        raise ResultError(f"key {RESULT} not found in ConfigMap {where}")
    try:
        documents = [document for document in read_documents(text) if isinstance(document, dict)]
    except UnreadableError as error:
        raise ResultError(f"{RESULT}: {error}") from None
    graphs = [document for document in documents if document.get("kind") == GRAPH]
    if len(graphs) != 1:
        seen = f"found {len(graphs)}" if graphs else "no DynamoGraphDeployment found in YAML content"
        raise ResultError(f"failed to extract DGD from {RESULT}: must hold one {GRAPH}, {seen}")
    if graphs[0].get("apiVersion") not in VERSIONS:
        raise ResultError(f"{RESULT}: apiVersion must be one of {', '.join(VERSIONS)}, got {str(graphs[0].get('apiVersion'))[:60]}")
    others = [document for document in documents if document.get("kind") != GRAPH]
    extra = [document for document in others if _is_config_map(document)]
    ignored = [f"{str(document.get('kind'))[:60]} {_name(document)[:60]}" for document in others if not _is_config_map(document)]
    if len(extra) > MAX_CONFIG_MAPS:
        raise ResultError(f"{RESULT}: must hold at most {MAX_CONFIG_MAPS} ConfigMaps, found {len(extra)}")
    found_graph, notes = _override(request, graphs[0], line)
    config_maps = tuple(_config_map(request, config_map) for config_map in extra)
    return ProfilingResult(_graph(request, found_graph), config_maps, tuple(others), tuple(ignored[:_MAX_NAMED]), notes)


def _override(request: Fields, graph: Fields, line: Line) -> tuple[Fields, tuple[str, ...]]:
    """Returns the graph with the override that its request had when profiled; a profiler may have merged it before. Raises: ResultError."""
    override, begun = override_of(request), read_progress(request).spec
    if begun not in ("", digest_spec(request.get("spec"))) and (kept := _read_kept_graph(request)) is not None:
        return kept, ()  # an edit has no effect
    if override is None:
        return graph, ()
    try:
        done = override_graph(graph, override, line)
    except OverrideError as error:
        raise ResultError(f"spec.overrides.dgd.{error}") from None
    return done.graph, tuple(f"spec.overrides.dgd.{warning}" for warning in done.warnings[:_MAX_NAMED])


def _read_kept_graph(request: Fields) -> Fields | None:
    """The merged graph as the request's annotation keeps it, which has no room for a large one."""
    text = (request["metadata"].get("annotations") or {}).get(SPEC)
    try:
        documents = read_documents(text) if isinstance(text, str) else []
    except UnreadableError:
        return None
    return next(
        (
            document
            for document in documents
            if isinstance(document, dict) and document.get("kind") == GRAPH and document.get("apiVersion") in VERSIONS
        ),
        None,
    )


def strip_graph(graph: Fields) -> Fields:
    """A graph without what its request adds to it: as it is shown."""
    metadata = {name: value for name, value in graph["metadata"].items() if name in ("name", "labels", "annotations") and value}
    return {"apiVersion": graph["apiVersion"], "kind": GRAPH, "metadata": metadata, "spec": graph.get("spec") or {}}


def summarise_result(result: ProfilingResult, data: Fields) -> Fields:
    """Summarises a result for a status: the graph unless it is too large, and configurations to choose from."""
    graph, choices = strip_graph(result.graph), read_pareto(data)
    small = len(json.dumps(graph)) <= MAX_CHOICES_BYTES
    return {**({"selectedConfig": graph} if small else {}), **({"pareto": choices} if choices else {})}


def _graph(request: Fields, graph: Fields) -> Fields:
    """Takes only labels and annotations of the metadata, and none with the prefix of this project."""
    head, legacy = as_map(graph.get("metadata")), read_alpha_fields(request)
    labels = {**_quote(head.get("labels")), **legacy.labels}
    notes = {**_quote(head.get("annotations")), **_quote(legacy.annotations)}
    out: Fields = {"apiVersion": graph["apiVersion"], "kind": GRAPH, "metadata": {"name": graph_name(request)}}
    out["metadata"] |= {key: value for key, value in (("labels", labels), ("annotations", notes)) if value}
    return {**out, "spec": as_map(graph.get("spec"))}


def prepare_graph(request: Fields, graph: Fields) -> Fields:
    """A graph as it is created: in the request's namespace, and known to be its."""
    metadata = graph["metadata"]
    labels = {**(metadata.get("labels") or {}), **labels_of(request)}
    notes = {**(metadata.get("annotations") or {}), REQUEST_UID: str(request["metadata"].get("uid") or "")}
    head = {"name": metadata["name"], "namespace": str(request["metadata"]["namespace"]), "labels": labels, "annotations": notes}
    return {**graph, "metadata": head}


def _config_map(request: Fields, config_map: Fields) -> Fields:
    metadata: Fields = config_map["metadata"]
    labels = {**_quote(metadata.get("labels")), **labels_of(request)}
    head: Fields = {"name": _name(config_map), "namespace": str(request["metadata"]["namespace"]), "labels": labels}
    if notes := _quote(metadata.get("annotations")):
        head["annotations"] = notes
    content = {name: string_map(config_map[name]) for name in ("data", "binaryData") if isinstance(config_map.get(name), dict)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": head, **content}


def _is_config_map(document: Fields) -> bool:
    return document.get("apiVersion") == "v1" and document.get("kind") == "ConfigMap" and bool(_name(document))


def _name(document: Fields) -> str:
    name = as_map(document.get("metadata")).get("name")
    return name if isinstance(name, str) else ""


def _quote(value: Any) -> dict[str, str]:
    entries = string_map(as_map(value))
    return {name: text for name, text in entries.items() if not name.startswith(OURS)}


def read_pareto(data: Fields) -> list[Fields]:
    """Configurations to choose from, as far as they can be read and fit into a status."""
    out: list[Fields] = []
    left, values = MAX_CHOICES_BYTES, MAX_CHOICE_VALUES
    for text in _rows(data.get(PARETO)):
        try:
            documents, used = read("\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#")), values)
        except UnreadableError as error:
            documents, used = [], error.values
        configs = [config for config in documents if isinstance(config, dict) and config] if len(documents) == 1 else []
        values -= used
        left -= sum(len(json.dumps(config)) for config in configs)
        if values < 0 or left < 0:
            break
        out += [{"config": config} for config in configs]
    return out


def _rows(text: Any) -> list[str]:
    """The seventh column of the table of costs."""
    try:
        parsed = json.loads(text) if isinstance(text, str) else None
        table = parsed["cost"]["table"]["data"] if parsed else []
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    rows = table if isinstance(table, list) else []
    return [row[6] for row in rows[:200] if isinstance(row, list) and len(row) >= 7 and isinstance(row[6], str)]
