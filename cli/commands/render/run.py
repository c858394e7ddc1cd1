"""Chooses settings, renders the objects of one text beside what else it holds, writes children. Flags and exit codes are elsewhere."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Final, NamedTuple

from ....api.kinds import BETA
from ....api.line import Line
from ....api.operator.configuration import OperatorConfiguration
from ....api.paths import Path
from ....api.paths import format_path as rendered_path
from ....api.wording import shorten
from ....conversion.kinds import KINDS
from ....conversion.lens.protocol import Fields
from ....conversion.translate import translate_path
from ....policies.facts import UNKNOWN, Facts
from ....reconciler.render.errors import RenderError
from ....reconciler.render.object_index import ObjectIndex
from ....reconciler.render.settings import Settings, make_settings
from ....reconciler.render.without_effect import Note
from ...console.exits import UsageError
from ...console.output import write_stderr
from ...files.budget import limit_cpu
from ...files.read import load_text
from ...objects.forms import FormError, create
from ...objects.manifest import Manifest, explain_unknown_kind, find_manifests, unfold_list
from ...rewrite.emit import emit_json, emit_yaml
from ...validation.pipeline import describe_unknown_fields
from ...yaml.load import Document, InputError, Source, read_text
from .kinds import OperatorSettings, render_children

DEFAULT_NAMESPACE: Final = "default"
_MAX_MESSAGE_CHARACTERS: Final = 2_000
ABILITIES: Final = ("grove", "lws", "dra", "istio")  # of the cluster, which decide the children


class RenderedChild(NamedTuple):
    """One child resource, and the file that holds its object."""

    file: str
    fields: Fields


class RenderedObject(NamedTuple):
    """A rendered object: itself as the cluster would hold it, None where it can't be read, and its children."""

    manifest: Manifest
    object: Fields | None
    children: list[Fields]
    line: Line  # by which it was read
    problems: list[str]  # what no children could be made of
    notes: Sequence[str] = ()  # fields that the server drops, and those that nothing acts on


class RenderedText(NamedTuple):
    """The outcome of one text."""

    objects: list[RenderedObject]  # in the order of the objects
    unreadable: list[InputError]

    @property
    def children(self) -> list[RenderedChild]:
        """The children of all objects."""
        return [RenderedChild(obj.manifest.document.source.name, child) for obj in self.objects for child in obj.children]

    @property
    def problems(self) -> list[str]:
        """The problems of all objects."""
        return [text for obj in self.objects for text in obj.problems]

    @property
    def notes(self) -> list[str]:
        """Fields without effect, of all objects."""
        return [text for obj in self.objects for text in obj.notes]

    @property
    def remarks(self) -> list[str]:
        """Remarks on the text."""
        return [*map(str, self.unreadable), *self.problems]


class RenderRequest(NamedTuple):
    """Options of a run, the same for every object."""

    facts: Facts
    operator: OperatorSettings
    namespace: str  # of objects that name none


def render_file(file: str | InputError, request: RenderRequest) -> RenderedText:
    """Render a file, which may be unreadable."""
    try:
        if isinstance(file, InputError):
            raise file
        with limit_cpu(file):
            return render_text(file, load_text(file), request)
    except InputError as error:
        return RenderedText([], [error])


def render_revision(
    revision: str, paths: Sequence[str], excluded: Sequence[str], files: Sequence[str], request: RenderRequest
) -> Iterator[tuple[RenderedText, str]]:
    """Render files as they are in a revision, each with its prefix for messages. Raises: UsageError."""
    from ...files.revision import read_revision

    for file, text in read_revision(revision, paths, files, excluded).items():
        if isinstance(text, InputError):
            yield RenderedText([], [text]), ""
        else:
            yield render_text(file, text, request), f"{revision}: "


def render_text(name: str, text: str, request: RenderRequest) -> RenderedText:
    """The children of every object in a text, in order; the cluster holds all objects of the text.

    Costs each object's size plus that of all objects in the text of the kinds that it depends on.
    """
    read = list(read_text(Source(name, text)))
    documents = [document for document in read if isinstance(document, Document)]
    unreadable = [error for error in read if isinstance(error, InputError)]
    ours = list(find_manifests(documents))
    stored = [_created(manifest, request) for manifest in ours]
    taken = {id(manifest.data) for manifest in ours}
    others = (item.data for each in documents for item in unfold_list(each) if id(item.data) not in taken)
    cluster_objects = ObjectIndex([*(created for created in stored if isinstance(created, dict)), *others], request.namespace)
    return RenderedText(
        [_rendered(manifest, created, cluster_objects, request) for manifest, created in zip(ours, stored, strict=True)], unreadable
    )


def _created(manifest: Manifest, request: RenderRequest) -> Fields | list[str]:
    """The object as the cluster holds it after its creation, or the reasons why it can't be created."""
    if not manifest.known:
        return [format_problem(manifest, (), explain_unknown_kind(manifest))]
    try:
        return create(manifest.data, request.facts, request.namespace)
    except FormError as error:
        return [format_problem(manifest, wrong.path, wrong.message) for wrong in error.errors]


def _rendered(manifest: Manifest, created: Fields | list[str], cluster_objects: ObjectIndex, request: RenderRequest) -> RenderedObject:
    line = request.operator.settings.line
    dropped = describe_unknown_fields(manifest, request.facts)
    if isinstance(created, list):
        return RenderedObject(manifest, None, [], line, created, dropped)
    made = render_children(created, cluster_objects, request.operator)
    problems, notes = ([_located(manifest, created, remark, line) for remark in several] for several in (made.problems, made.notes))
    return RenderedObject(manifest, created, made.children, line, problems, [*dropped, *notes])


def _located(manifest: Manifest, obj: Fields, error: RenderError | Note, line: Line) -> str:
    """A problem or a note in the author's fields: rendering reads one version, people write either."""
    path = error.path
    kind = KINDS.get(manifest.identity.kind)
    if kind is not None and path[:1] == ("spec",) and path[1:2] != ("services",) and manifest.version != BETA:
        from ....reconciler.render.graph import NEW, convert_for_render

        path = translate_path(kind, path, convert_for_render(obj, NEW._replace(line=line)), manifest.version, manifest.data).path
    return format_problem(manifest, path, error.reason)


def format_problem(manifest: Manifest, path: Path, text: str) -> str:
    """A sentence about a field, behind its place in the text."""
    line, column, _ = manifest.document.value_position(path)
    field = rendered_path(path)
    return shorten(
        f"{manifest.document.source.name}:{line}:{column}: {manifest.identity}: {field}{': ' if field else ''}{text}",
        _MAX_MESSAGE_CHARACTERS,
    )


def choose_operator(known: Facts, config: str | None, *, lenient: bool = False) -> tuple[OperatorSettings, str]:
    """The operator's settings, and the assumptions made for them (empty if everything is known).

    Raises: UsageError for a configuration file that can't be used.
    """
    load = cache(partial(_configured, config, lenient=lenient))
    usual = Settings() if config is None else make_settings(load())
    answered = {name: getattr(known, name) for name in ABILITIES if getattr(known, name) is not UNKNOWN}
    version = usual.operator_version if known.operatorVersion is UNKNOWN else str(known.operatorVersion)
    restricted = usual.restricted if known.operatorScope is UNKNOWN else known.operatorScope == "namespace"
    line = known._replace(operatorVersion=version or UNKNOWN).line
    kept = usual.checkpoints._replace(gate=usual.checkpoints.gate or line >= Line.V1_4)
    settings = usual._replace(**answered, operator_version=version, explicit_line=line, restricted=restricted, checkpoints=kept)
    assumed = [f"{name}={str(getattr(settings, name)).lower()}" for name in ABILITIES if name not in answered]
    assumed += [f"operatorLine={line}"] * (not version and known.operatorLine is UNKNOWN)
    sentence = f"not known, so assumed: {', '.join(assumed)}; --set-fact or --facts say otherwise" if assumed else ""
    return OperatorSettings(settings, load), sentence


def _configured(config: str | None, *, lenient: bool) -> OperatorConfiguration:
    from ...installation.configuration import load_configuration

    # the caller's environment must not affect another operator's rendering
    effective = load_configuration(config, {}, lenient=lenient)
    for line in effective.unknown:
        write_stderr(f"warning: {line}")
    return effective.configuration


def write_children(children: list[RenderedChild], folder: str, form: str) -> list[str]:
    """Writes a file for each child, `NAMESPACE/kind-name.yaml`, and returns the paths below the folder; other files there stay.

    Raises: UsageError when the folder can't be written to, or two different children would be one file.
    """
    from ...files.write import store

    named: dict[str, RenderedChild] = {}
    for child in children:
        metadata = child.fields["metadata"]
        name = f"{_safe(metadata['namespace'])}/{child.fields['kind'].lower()}-{_safe(metadata['name'])}.{form}"
        other = named.setdefault(name, child)
        if other.fields != child.fields:
            raise UsageError(f"-d {folder}: {name} would be written for {other.file} and for {child.file}; render one of them at a time")
    for name, child in named.items():
        try:
            store(folder, name, emit_json(child.fields) if form == "json" else emit_yaml(child.fields))
        except UsageError as error:
            raise UsageError(f"-d {folder}: {error}") from None
    return [*named]


def _safe(name: str) -> str:
    """A name as a part of a path; an object that no cluster would take may be called anything."""
    cut = "".join(character if character.isalnum() or character in "-._" else "_" for character in name)[:200]
    return cut if cut.strip(".") else "_"
