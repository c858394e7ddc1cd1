"""Checks the preconditions of a run and examines each object: the plan. Writes nothing."""

from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from typing import Final

from ....api.crd import build
from ....api.kinds import BY_NAME
from ....api.line import OLDEST, Line, decide_line, explain_upgrades, of_definitions, of_release
from ....api.lost_fields import find_lost_fields
from ....kube.errors import ApiError, NotFoundError
from ....kube.resources import CRDS, Resource, resource_of_kind
from ....kube.storage_versions import Definition, load_definition
from .context import MANAGER, UNTYPED, MigrationContext
from .definition import OBSERVED
from .listing import Outage, list_pages
from .offline import LOWERED, REFUSED, TOO_BIG, find_notes, format_name, list_managed_fields
from .offline import find_lost_fields as lost_fields
from .report import KindReport, MigrationReport, ObjectNote, ObjectNotes

PAGE_OBJECTS: Final = 50  # whole ones: of the largest 75 MB
_MAX_SAMPLES: Final = 3  # of which one must be converted
_MAX_NAMES: Final = 5  # in a sentence
GRAPH: Final = "DynamoGraphDeployment"
REQUEST: Final = "DynamoGraphDeploymentRequest"
STAMP: Final = "dynamo.nvidia.com/operator-version"  # by which operator the definition was applied
_build: Final = cache(build)  # definitions of a line as this project has them


async def make_plan(
    context: MigrationContext, outage: Outage, report: MigrationReport, on_object: Callable[[KindReport], None]
) -> tuple[list[Definition], Line]:
    """The definitions and their line; fills the report with a plan, or with why there is none. Raises: ApiError, Stopped."""
    definitions, to = [], context.options.to
    graph = await load_definition(context.cluster, BY_NAME[GRAPH].crd_name)
    requests = await load_definition(context.cluster, BY_NAME[REQUEST].crd_name)
    line = decide_line("", of_definitions(graph and graph.node, requests and requests.node))
    for name in context.options.kinds:
        crd = BY_NAME[name].crd_name
        known = {GRAPH: graph, REQUEST: requests}
        definition = known[name] if name in known else await load_definition(context.cluster, crd)
        if definition is None:
            report.blocked.append(f"{crd}: the CustomResourceDefinition is not there")
            continue
        if definition.kind != name:
            report.blocked.append(
                f"{crd}: spec.names.kind must be {name}, and is {definition.kind or 'nothing'}: the definition belongs to another project"
            )
            continue
        definitions.append(definition)
        report.blocked += [f"{crd}: {reason}" for reason in find_obstacles(definition, context, line)]
    report.blocked += [reason for each in definitions async for reason in _rights(context, each)]
    if report.blocked:
        return definitions, line
    if to == "v1alpha1" and line > OLDEST:
        report.warnings.append(
            f"definitions of operator 1.2 must not be applied while objects hold fields of operator {line} (minAvailable, "
            "runtimeVersionOverride, providerOverride, startupPolicy, deletionPolicy and others): the API server would remove them with "
            "the next write"
        )
    stamps = [of_release(str(each.annotations.get(STAMP, ""))) for each in definitions]
    report.warnings += {steps for stamp in stamps if stamp is not None and (steps := explain_upgrades(min(stamp, line), max(stamp, line)))}
    if strange := [each.kind for each in definitions if BY_NAME[each.kind].stored(line) != to]:
        report.warnings.append(
            f"definitions of operator {line} store {' and '.join(strange)} in another version than {to}, and servers convert accordingly: "
            f"an object that grows past what annotations hold would be stored in {to} without the rest"
        )
    for each in definitions:
        kind_report = _begun(each, context)
        report.kinds.append(kind_report)
        if reason := await _converts(context, outage, each):
            report.blocked.append(f"{each.name}: {reason}")
            continue
        await _census(context, outage, each, kind_report, line, on_object)
        report.blocked += [f"{each.name}: {reason}" for reason in _blocking(kind_report.notes, to)]
        _predict(kind_report, context)
    return definitions, line


def _begun(definition: Definition, context: MigrationContext) -> KindReport:
    to, whole = context.options.to, not context.options.namespace and not context.options.verify
    after = [to] if whole else sorted({*definition.stored, to})
    return KindReport(definition.kind, definition.storage, to, [*definition.stored], after)


def _predict(kind_report: KindReport, context: MigrationContext) -> None:
    """The steps of a run by storedVersions, which may be wrong; only the run itself finds out."""
    to = context.options.to
    kind_report.refused = kind_report.notes.counts.get(REFUSED, 0)
    if kind_report.storage_before == to and kind_report.stored_before == [to]:
        kind_report.moved, kind_report.already_there = 0, kind_report.objects
    elif to not in kind_report.stored_before:
        kind_report.moved, kind_report.already_there = kind_report.objects - kind_report.refused, 0
    else:
        kind_report.moved, kind_report.already_there = None, None
    if kind_report.refused:
        kind_report.stored_after = sorted({*kind_report.stored_before, to})


def find_obstacles(definition: Definition, context: MigrationContext, line: Line) -> Iterator[str]:
    """Yields the reasons why nothing may be written by a definition."""
    options, kind = context.options, BY_NAME[definition.kind]
    # to be read, a version needn't be served
    there = {*definition.served, *(set(definition.versions) - {options.to} if options.verify else ())}
    missing = [version.name for version in kind.versions if version.name not in there]
    if missing:
        yield (
            f"spec.versions must serve {' and '.join(version.name for version in kind.versions)}, and lacks {' and '.join(missing)}; "
            "put the version back: objects that are stored in it can't be read without it"
        )
    if not definition.converts:
        yield "spec.conversion.strategy must be Webhook: otherwise the API server drops the fields that the other version lacks"
    if not definition.storage:
        yield "spec.versions must have one with storage: true"
    if options.verify and definition.storage != options.to:
        yield f"spec.versions must store {options.to} for --verify, and stores {definition.storage}; run without it to move the objects"
    lost = [
        each for each in find_lost_fields(_build(definition.kind, line=line), definition.node) if each.startswith(("v1alpha1 ", "v1beta1 "))
    ]
    if lost:
        more = f" and {len(lost) - _MAX_NAMES} more" if len(lost) > _MAX_NAMES else ""
        named = ", ".join(lost[:_MAX_NAMES])
        yield (
            f"the schema must have all fields of operator {line}, and lacks {named}{more}: a write would remove them from the objects; "
            f"apply the definitions of `dynamo-webhooks crds --line {line}` first"
        )
    seen = definition.annotations.get(OBSERVED, "")
    ours = any(each.get("manager") == MANAGER for each in list_managed_fields(definition.node.get("metadata")))
    if seen and seen != str(definition.generation) and not ours and not options.take_over:
        yield (
            f"the annotation {OBSERVED} must be the generation {definition.generation}, and is {seen}: the operator's own migrator may be "
            "at work; wait until it is done, or pass --take-over if that operator does not run any more"
        )


async def _rights(context: MigrationContext, definition: Definition) -> AsyncIterator[str]:
    """Which rights are missing."""
    options, cluster = context.options, context.cluster
    kind = resource_of_kind(definition.kind, options.to)
    wanted: list[tuple[str, Resource, str, str, str]] = [("list", kind, options.namespace, "", "")]
    if not options.dry_run:
        wanted.append(("patch", kind, options.namespace, "", "status"))
        if not options.verify and definition.storage != options.to:
            wanted.append(("patch", CRDS, "", definition.name, ""))
        if not options.verify and not options.namespace:
            wanted += [("patch", CRDS, "", definition.name, ""), ("patch", CRDS, "", definition.name, "status")]
    for verb, resource, namespace, name, part in dict.fromkeys(wanted):
        if not await cluster.allowed(verb, resource, namespace, name, subresource=part):
            what = "/".join(filter(None, (resource.plural, part)))
            where = f" in namespace {namespace}" if namespace else ""
            yield f"the user must be allowed to {verb} {what}{f' {name}' if name else ''}{where}"


async def _converts(context: MigrationContext, outage: Outage, definition: Definition) -> str:
    """Finds out why the API server doesn't convert, by dry runs of empty writes to each version, which convert both ways.

    A user who only looks may have no right to do that, and is not stopped.
    """
    reason = ""
    try:
        async for page in list_pages(
            context, outage, resource_of_kind(definition.kind, definition.storage), limit=_MAX_SAMPLES, brief=True
        ):
            for item in page:
                reason = await _converted(context, definition, item["metadata"])
                if not reason:
                    return ""
            break
    except NotFoundError as error:
        return error.message
    return reason


async def _converted(context: MigrationContext, definition: Definition, metadata: dict[str, str]) -> str:
    for version in definition.versions:
        try:
            where = (metadata["name"], metadata.get("namespace", ""))
            await context.cluster.touch(resource_of_kind(definition.kind, version), *where, manager=MANAGER, dry_run=True)
        except NotFoundError:
            continue  # deleted meanwhile
        except ApiError as error:
            if UNTYPED in error.message:
                continue  # it was converted, and can be written in the other version alone
            if error.code in (401, 403) and context.options.dry_run:
                continue
            return f"objects must be converted both ways, and are not: {error.message}"
    return ""


async def _census(
    context: MigrationContext,
    outage: Outage,
    definition: Definition,
    kind_report: KindReport,
    line: Line,
    on_object: Callable[[KindReport], None],
) -> None:
    """Counts and examines all objects. Holds one page, and the report."""
    async for page in list_pages(context, outage, resource_of_kind(definition.kind, definition.storage), limit=PAGE_OBJECTS, brief=False):
        for obj in page:
            kind_report.objects += 1
            for note in find_notes(obj, context.options.to, line):
                kind_report.notes.add(note)
            if fields := lost_fields(obj["metadata"], line):
                kind_report.notes.add(ObjectNote(format_name(obj), LOWERED, ", ".join(sorted(fields))))
            on_object(kind_report)
        context.check()


def _blocking(notes: ObjectNotes, to: str) -> Iterator[str]:
    if TOO_BIG in notes.counts:
        yield f"{_some(notes, TOO_BIG)} would lose data in {to}, because it doesn't fit into annotations: make these objects smaller first"
    if LOWERED in notes.counts:
        yield (
            f"{_some(notes, LOWERED)} hold fields of a later operator release than that of the definitions: each write would remove "
            "them; apply the definitions of your operator's release first, which `dynamo-webhooks crds --line RELEASE` prints"
        )


def _some(notes: ObjectNotes, matter: str) -> str:
    names = [note.object for note in notes.of(matter)[:_MAX_NAMES]]
    more = f" and {notes.counts[matter] - len(names)} more objects" if notes.counts[matter] > len(names) else ""
    return f"{', '.join(names)}{more}"
