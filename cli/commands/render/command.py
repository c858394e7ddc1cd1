"""The command `render`: the children that the reconciler would apply."""

from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

from ....api.wording import shorten
from ....policies.facts import UNKNOWN
from ...console import flags
from ...console.exits import NO_OBJECT, NOTHING_FOUND, OK, REFUSED, UNREADABLE, UsageError, worst_code
from ...console.nearest import did_you_mean
from ...console.options import option, repeatable, switch
from ...console.output import write_stderr, write_stdout
from ...files.find import find_files
from ...project.apply import apply_project
from ...project.facts import read_project_facts
from ...project.options import ProjectOptions
from ...rewrite.emit import emit_json, emit_yaml
from .pods import find_restarts, format_restarts
from .run import (
    DEFAULT_NAMESPACE,
    RenderedChild,
    RenderedText,
    RenderRequest,
    choose_operator,
    render_file,
    render_revision,
    write_children,
)

HELP = "print the child resources that the reconciler would apply"


class Options(NamedTuple):
    """Flags and options."""

    paths: flags.Paths = ()
    exclude: flags.Exclude = ()
    output: Annotated[str, flags.output("yaml", "json", text="YAML documents, or one JSON list (default yaml)")] = "yaml"
    directory: Annotated[str | None, option("write a file for each child instead of printing", "-d", "DIR")] = None
    only: Annotated[tuple[str, ...], repeatable("children of one kind, such as Deployment; repeatable", "KIND")] = ()
    against: Annotated[str | None, option("print which pods would restart since this Git revision, and why", "GIT-REF")] = None
    namespace: Annotated[str, option("namespace of objects without one (default: default)", "-n")] = ""
    facts: flags.FactFlags = flags.FactFlags()
    config: Annotated[str | None, option("OperatorConfiguration; facts override it", "FILE")] = None
    lenient_config: flags.LenientConfig = False
    allow_empty: flags.AllowNone = False
    quiet: Annotated[bool, switch("don't report assumptions about the cluster", "-q")] = False
    project: ProjectOptions = ProjectOptions()


def run(options: Options) -> int:
    """Renders and prints, writes or compares; 0, 1 when something can't be rendered (the rest is printed), 3, 4.

    Raises: UsageError for wrong flags, facts, configuration or revision.
    """
    flags.need_paths(options.paths)
    if options.against is not None and options.directory is not None:
        raise UsageError("--against prints what restarts, -d writes children: use one of them")
    # a configuration decides the line
    options = apply_project(options, (*(("line",) if options.config is None else ()), "facts"), options.paths)
    request = _make_request(options)
    files = find_files(options.paths, options.exclude)
    done = [render_file(file, request) for file in files]
    for line in (line for outcome in done for line in (*outcome.remarks, *outcome.notes)):
        write_stderr(line)
    codes = [_code(outcome) for outcome in done]
    if not any(outcome.objects for outcome in done) and not options.allow_empty and UNREADABLE not in codes:
        write_stderr(NO_OBJECT)
        codes.append(NOTHING_FOUND)
    every = [child for outcome in done for child in outcome.children]
    children = _chosen(every, options.only)
    for line in _missed(every, options.only):
        write_stderr(line)
    if options.against is not None:
        named = [file for file in files if isinstance(file, str)]
        revision = render_revision(options.against, options.paths, options.exclude, named, request)
        _compare(children, revision, options, whole=not any(map(_code, done)))
    elif options.directory is not None:
        for path in write_children(children, options.directory, options.output):
            write_stderr(path)
    else:
        fields = [child.fields for child in children]
        write_stdout(emit_json(fields) if options.output == "json" else "".join(f"---\n{emit_yaml(obj)}" for obj in fields))
    return worst_code(codes)


def _make_request(options: Options) -> RenderRequest:
    """Decides how all objects are rendered; reports assumptions about the cluster. Raises: UsageError for facts or a configuration."""
    known = read_project_facts(options.facts, options.project)
    operator, assumed = choose_operator(known, options.config, lenient=options.lenient_config)
    if assumed and not options.quiet:
        write_stderr(assumed)
    if known.operatorVersion is UNKNOWN and operator.settings.operator_version:
        known = known._replace(operatorVersion=operator.settings.operator_version)
    return RenderRequest(known, operator._replace(restarted=options.against is not None), options.namespace or DEFAULT_NAMESPACE)


def _code(outcome: RenderedText) -> int:
    return worst_code([OK, *[UNREADABLE] * bool(outcome.unreadable), *[REFUSED] * bool(outcome.problems)])


def _compare(children: list[RenderedChild], revision: Iterable[tuple[RenderedText, str]], options: Options, *, whole: bool) -> None:
    """Prints which pods restart on the way from a revision to the files as they are."""
    before: list[RenderedChild] = []
    for outcome, begin in revision:
        before += outcome.children
        for line in outcome.remarks:
            write_stderr(f"{begin}{line}")
            whole = False
    restarts = find_restarts(_chosen(before, options.only), children)
    write_stdout(
        emit_json([restart._asdict() for restart in restarts]) if options.output == "json" else format_restarts(restarts, whole=whole)
    )


def _chosen(children: list[RenderedChild], kinds: Sequence[str]) -> list[RenderedChild]:
    wanted = {kind.lower() for kind in kinds}
    return [child for child in children if not wanted or child.fields["kind"].lower() in wanted]


def _missed(children: list[RenderedChild], kinds: Sequence[str]) -> list[str]:
    """A sentence for each kind that was asked for and isn't among the children, where there are any."""
    made = {str(child.fields["kind"]).lower(): str(child.fields["kind"]) for child in children}
    missed = [kind for kind in dict.fromkeys(kinds) if children and kind.lower() not in made]
    return [f"--only {shorten(kind, 80)}: no child of this kind is made{did_you_mean(kind, sorted(made.values()))}" for kind in missed]
