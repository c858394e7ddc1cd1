"""Formats the settings in effect of a run, each with its origin."""

from collections.abc import Iterator

from ...project import keys
from ...project.reports import ReportRequest
from .options import Options


def format_settings(options: Options) -> str:
    """Format the settings in effect, a line a value, with their origin: the project file with its line, a flag, or the default."""
    project = options.project.file
    rows = [("project file", project.name if project is not None else "none", "")]
    for key in keys.KEYS:
        origin = project.origins[key.name] if project is not None and key.name in options.project.laid else ""
        rows += [(name, value, place or origin) for name, value, place in _rows(options, key.name, key.flag)]
    widths = [min(max(len(row[column]) for row in rows), 48) for column in (0, 1)]
    return "".join(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}".rstrip() + "\n" for name, value, origin in rows)


def _rows(options: Options, name: str, flag: str) -> Iterator[tuple[str, str, str]]:
    laid = options.project.value(name)
    match name:
        case "rules":
            for rule, severity in (laid or {}).items():
                yield f"rules.{rule}", severity.level, f"{severity.origin} ({severity.reason})"
            for word, words in (("select", options.select), ("ignore", options.ignore)):
                if words:
                    yield word, ", ".join(words), f"flag --{word}"
        case "exclude" if laid is not None:
            yield name, ", ".join(laid), ""
        case "outputs":
            for report in options.outputs or (ReportRequest("text"),):
                yield f"outputs.{report.form}", report.file or "-", "" if laid is not None else "flag -o" if options.outputs else "default"
        case _:
            given = {"paths": options.paths, "exclude": options.exclude, "line": options.facts.line, "facts": options.facts.file}
            value = laid if laid is not None else {**given, "baseline": options.baseline}.get(name)
            text = ", ".join(value) if isinstance(value, list | tuple) else value
            yield name, text or "-", "" if laid is not None else f"flag {flag}" if value else "default"
