"""Formats the settings in effect of a run, each with its origin."""

from collections.abc import Iterator, Mapping, Sequence

from ...project import keys
from ...project.load import Cluster, Override, show_path
from ...project.reports import ReportRequest
from .options import Options


def format_settings(options: Options) -> str:
    """Format the settings in effect, a line a value, with their origin: the project file with its line, a flag, or the default."""
    project = options.project.file
    rows = [("project file", project.files[0] if project is not None else "none", "")]
    for key in keys.KEYS:
        if key.name == "extends":
            rows += [(key.name, file, project.origins[key.name]) for file in project.files[1:]] if project is not None else []
            continue
        origin = project.origins[key.name] if project is not None and key.name in options.project.laid else ""
        rows += [(name, value, place or origin) for name, value, place in _rows(options, key.name, key.flag)]
    widths = [min(max(len(row[column]) for row in rows), 48) for column in (0, 1)]
    return "".join(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}".rstrip() + "\n" for name, value, origin in rows)


def _rows(options: Options, name: str, flag: str) -> Iterator[tuple[str, str, str]]:
    laid = options.project.value(name)
    match name:
        case "rules":
            for rule, one in (laid or {}).items():
                yield f"rules.{rule}", one.level, f"{one.origin} ({one.reason})"
            for word, words in (("select", options.select), ("ignore", options.ignore)):
                if words:
                    yield word, ", ".join(words), f"flag --{word}"
        case "clusters":
            yield from _cluster_rows(laid or {}, options.project.facts_of)
        case "overrides":
            yield from _override_rows(laid or ())
        case "exclude" if laid is not None:
            yield name, ", ".join(laid), ""
        case "outputs":
            for one in options.outputs or (ReportRequest("text"),):
                yield f"outputs.{one.form}", one.file or "-", "" if laid is not None else "flag -o" if options.outputs else "default"
        case _:
            given = {"paths": options.paths, "exclude": options.exclude, "line": options.facts.line, "facts": options.facts.file}
            value = laid if laid is not None else {**given, "baseline": options.baseline}.get(name)
            text = ", ".join(value) if isinstance(value, list | tuple) else value
            yield name, text or "-", "" if laid is not None else f"flag {flag}" if value else "default"


def _cluster_rows(clusters: Mapping[str, Cluster], chosen: str | None) -> Iterator[tuple[str, str, str]]:
    for name, cluster in clusters.items():
        for match in cluster.paths:
            yield match.key, show_path(match.path), match.origin
        for word in ("facts", "line", "namespace"):
            if value := getattr(cluster, word):
                yield f"clusters.{name}.{word}", value, cluster.origin
    if chosen is not None:
        yield "clusters", chosen, "flag --facts-of"


def _override_rows(overrides: Sequence[Override]) -> Iterator[tuple[str, str, str]]:
    for number, override in enumerate(overrides):
        where = ", ".join(show_path(match.path) for match in override.paths)
        for rule, one in override.rules.items():
            yield f"overrides[{number}].{rule}", one.level, f"{one.origin} ({one.reason}) in {where}"
