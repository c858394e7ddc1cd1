"""The command `diff`: what really changes between two sets of objects. Values that may be secrets are hidden."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, NamedTuple

from ....api.paths import format_path
from ....api.wording import count_of, escape_unprintable, shorten
from ...console import flags
from ...console.exits import BUG, NO_OBJECT, NOTHING_FOUND, REFUSED, UNREACHABLE, UNREADABLE, UsageError, worst_code
from ...console.options import argument, option, switch
from ...console.output import write_stderr, write_stdout
from ...objects.forms import SimulatedServer
from ...objects.manifest import Manifest
from ...objects.stored import format_location
from ...project.apply import apply_project
from ...project.facts import read_project_facts
from ...project.options import ProjectOptions
from ...rewrite.emit import emit_json
from ...validation.levels import FAULT
from ...yaml.load import InputError
from ..check.reports.json import describe_finding
from .compare import ADDED, CHANGED, ORDER, REMOVED, Difference
from .run import EQUAL, FAILED, DiffRequest, ObjectComparison, compare_pair, load_live_sides, load_side, pair_objects
from .secrets import HIDDEN, mask_secrets

FORMAT: Final = 1
FINDING_FIELDS: Final = ("file", "line", "column", "path", "rule", "code", "level", "message")  # of a finding
_MAX_VALUE_CHARACTERS: Final = 160  # in a line
_MAX_PATH_CHARACTERS: Final = 2_000
HELP = "show what changes between files, folders, Git revisions or a cluster, and the response to the update"


_SIDES: Final = "file, folder, - for standard input, or REVISION:PATH of Git, such as main:deploy"


class Options(NamedTuple):
    """Flags and options."""

    old: Annotated[str | None, argument(f"old objects: {_SIDES}", "OLD", nargs="?")] = None
    new: Annotated[str | None, argument("new objects: the same", "NEW", nargs="?")] = None
    cluster: Annotated[bool, switch("compare one PATH with a cluster: its objects now, and with the files applied to them")] = False
    namespace: flags.ObjectNamespace = ""
    kubeconfig: flags.ClusterKubeconfig = ""
    context: flags.ClusterContext = ""
    to: Annotated[str | None, option("version to compare in (default: the new object's)", choices=("v1alpha1", "v1beta1"))] = None
    exclude: flags.Exclude = ()
    output: Annotated[str, flags.output("text", "json")] = "text"
    user: Annotated[str, option("user name of the update", "--as", "USER")] = ""
    facts: flags.FactFlags = flags.FactFlags()
    allow_empty: flags.AllowNone = False
    quiet: Annotated[bool, switch("no summary", "-q")] = False
    project: ProjectOptions = ProjectOptions()


def run(options: Options) -> int:
    """Compares and prints; 0 when nothing differs, 1 when something does or can't be compared, 3, 4, 6, 70.

    Raises: UsageError for wrong flags, facts or revisions.
    """
    old_path = _agree(options)
    options = apply_project(options, ("line", "facts"), [options.new or old_path])
    facts = read_project_facts(options.facts, options.project)
    snapshot = None
    if options.cluster:
        from ...objects.cluster_snapshot import StoredInCluster, snapshot_cluster

        snapshot = snapshot_cluster(options.kubeconfig, options.context, options.namespace)
        if snapshot.unreachable:
            write_stderr(snapshot.unreachable)
            return UNREACHABLE

    server = SimulatedServer(facts if snapshot is None else snapshot.fill(facts), options.user)
    request = DiffRequest(server, options.to or "", snapshot is not None, snapshot and snapshot.phases)
    if snapshot is not None:
        old, new = load_live_sides(
            old_path, options.exclude, StoredInCluster(snapshot), options.namespace or snapshot.namespace, server.line
        )
    else:
        old, new = (load_side(path, options.exclude) for path in (old_path, options.new or ""))
    # where nothing of a side can be read, the other side's objects are neither gone nor new
    sides = () if options.cluster else ((REMOVED, new), (ADDED, old))
    untold = [what for what, side in sides if side.unreadable and not side.objects]
    results = [compared for pair in pair_objects(old, new) if (compared := compare_pair(pair, request)).what not in untold]
    unreadable = [*old.unreadable, *new.unreadable]
    code = _code(results, unreadable=bool(unreadable), allow_empty=options.allow_empty)
    if options.output == "json":
        write_stdout(emit_json(_document(results, unreadable, code)))
    else:
        write_stdout("".join(f"{escape_unprintable(line)}\n" for compared in results for line in _lines(compared)))
    if not results and not unreadable and not options.allow_empty:
        write_stderr(NO_OBJECT)
    elif (results or not unreadable) and not options.quiet and options.output == "text":
        write_stderr(_summary(results))
    for error in unreadable:
        write_stderr(str(error))
    return code


def _agree(options: Options) -> str:
    """Refuses sides that are none, and flags that don't go together; returns the old side, or that of a cluster."""
    flags.need_cluster("compare with a cluster", cluster=options.cluster, kubeconfig=options.kubeconfig, context=options.context)
    if options.cluster and (options.new or not options.old):
        raise UsageError("--cluster is the old side: name one file, folder or REVISION:PATH, the new objects")
    if not options.old or (not options.cluster and not options.new):
        raise UsageError("name two files, folders or REVISION:PATH: the old objects, then the new ones; or one and --cluster")
    if options.old == options.new == "-":
        raise UsageError("only one side can be standard input")
    return options.old


def _code(results: Sequence[ObjectComparison], *, unreadable: bool, allow_empty: bool) -> int:
    codes = [BUG] * any(finding.level == FAULT for compared in results for finding in compared.findings)
    codes += [UNREADABLE] * unreadable
    codes += [REFUSED] * any(compared.what != EQUAL for compared in results)
    codes += [NOTHING_FOUND] * (not results and not allow_empty)
    return worst_code(codes)


def _document(results: Sequence[ObjectComparison], unreadable: Sequence[InputError], code: int) -> dict[str, Any]:
    """Everything as data; fields are only ever added."""
    return {
        "format": FORMAT,
        "objects": [_object(compared) for compared in results],
        "unreadable": [error.as_data() for error in unreadable],
        "summary": {**_counts(results), "exit": code},
    }


def _counts(results: Sequence[ObjectComparison]) -> dict[str, int]:
    """Count the objects by outcome."""
    counts = Counter(compared.what for compared in results)
    return {what: counts[what] for what in (ADDED, REMOVED, CHANGED, EQUAL, FAILED)}


def _summary(results: Sequence[ObjectComparison]) -> str:
    """One line with the counts."""
    counts = [f"{count} {what}" for what, count in _counts(results).items() if count]
    rewritten = sum(compared.rewritten for compared in results)
    more = f" ({rewritten} of them written differently)" if rewritten else ""
    return f"{count_of(len(results), 'object')}: {', '.join(counts)}{more}"


def _lines(compared: ObjectComparison) -> Iterator[str]:
    if compared.what == EQUAL:
        return
    places = " -> ".join(format_location(manifest) for manifest in (compared.pair.old, compared.pair.new) if manifest is not None)
    yield f"{compared.pair.identity}  {'only in ' if compared.what in (ADDED, REMOVED) else ''}{places}"
    if compared.failure:
        yield f"  can't be compared: {shorten(compared.failure, _MAX_PATH_CHARACTERS)}"
    for difference in compared.differences:
        yield f"  {_line(difference, compared.version)}"
    for finding in compared.findings:
        place = f"{finding.source.name}:{finding.position.line}:{finding.position.column}"
        text = f"{finding.path}{': ' * bool(finding.path)}{finding.message}"
        yield f"  ! {place} {finding.level} {finding.rule} ({finding.code}): {text}"


def _line(difference: Difference, version: str) -> str:
    change = difference.change
    field = shorten(format_path(change.path), _MAX_PATH_CHARACTERS)
    note = f" (a field of {difference.version})" if difference.version != version else ""
    mark = {ADDED: "+", REMOVED: "-"}.get(change.what, "~")
    masked = (mask_secrets(value, change.path, secret=change.secret) for value in (change.before, change.after))
    before, after = (shorten(json.dumps(value, ensure_ascii=False, default=str), _MAX_VALUE_CHARACTERS) for value in masked)
    if change.what == ADDED:
        return f"{mark} {field}: {after}{note}"
    if change.what == REMOVED:
        return f"{mark} {field}: {before}{note}"
    if before == after and HIDDEN in before:
        return f"{mark} {field}: {before}, another value{note}"
    what = "order " if change.what == ORDER else ""
    return f"{mark} {field}: {what}{before} -> {after}{note}"


def _object(compared: ObjectComparison) -> dict[str, Any]:
    return {
        "object": compared.pair.identity._asdict(),
        "what": compared.what,
        "old": _describe_manifest(compared.pair.old),
        "new": _describe_manifest(compared.pair.new),
        "version": compared.version,
        "differences": [_difference(difference) for difference in compared.differences],
        "spelling": [_difference(difference) for difference in compared.spelling],
        "writtenDifferently": compared.rewritten,
        "findings": [
            {key: value for key, value in describe_finding(finding).items() if key in FINDING_FIELDS} for finding in compared.findings
        ],
        "failure": compared.failure,
    }


def _describe_manifest(manifest: Manifest | None) -> dict[str, Any] | None:
    if manifest is None:
        return None
    return {"file": manifest.document.source.name, "line": manifest.document.position(()).line, "version": manifest.version}


def _difference(difference: Difference) -> dict[str, Any]:
    change = difference.change
    return {
        "path": format_path(change.path),
        "version": difference.version,
        "what": change.what,
        "before": mask_secrets(change.before, change.path, secret=change.secret),
        "after": mask_secrets(change.after, change.path, secret=change.secret),
    }
