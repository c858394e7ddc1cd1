"""Chooses settings, renders the objects of one text beside what else it holds, writes children. Flags and exit codes are elsewhere."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.api.line import Line, of_version
from dynamo_webhooks.api.paths import render as rendered_path
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.check.objects import objects, unfolded, unknown
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.project.lay import lay
from dynamo_webhooks.cli.render.admit import admitted
from dynamo_webhooks.cli.render.kinds import Operator, children
from dynamo_webhooks.cli.rewrite.fresh import json_text, yaml_text
from dynamo_webhooks.cli.yaml.load import Document, InputError, Source, read
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.translate import translated
from dynamo_webhooks.policies.facts import UNKNOWN
from dynamo_webhooks.reconciler.render.held import Held
from dynamo_webhooks.reconciler.render.settings import Settings

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from dynamo_webhooks.api.operator.settings import ReconcilerSettings
    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.cli.check.objects import Found
    from dynamo_webhooks.cli.render.admit import Admitted
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.policies.facts import Facts
    from dynamo_webhooks.reconciler.render.errors import RenderError
    from dynamo_webhooks.reconciler.render.without_effect import Note

LONGEST = 2_000  # characters of one message
_RENDERED_FROM = "v1beta1"
ABILITIES: Final = ("grove", "lws", "dra", "istio")  # of the cluster, which decide what is rendered


class Made(NamedTuple):
    """What became of one object of our kinds: itself as the cluster would hold it, None where it can't be read, and its children."""

    found: Found
    object: Fields | None
    children: list[Fields]
    problems: list[str]  # what no children could be made of
    notes: Sequence[str] = ()  # fields that nothing acts on


class Outcome(NamedTuple):
    """What became of one text."""

    made: list[Made]  # in the order in which the objects stand
    unreadable: list[InputError]

    @property
    def children(self) -> list[Fields]:
        """The children of all objects."""
        return [child for one in self.made for child in one.children]

    @property
    def problems(self) -> list[str]:
        """The problems of all objects."""
        return [text for one in self.made for text in one.problems]

    @property
    def notes(self) -> list[str]:
        """What nothing acts on, of all objects."""
        return [text for one in self.made for text in one.notes]

    @property
    def told(self) -> list[str]:
        """What is to be said about the text."""
        return [*map(str, self.unreadable), *self.problems]


class Asked(NamedTuple):
    """What a run was asked for; the same for every object."""

    facts: Facts
    operator: Operator
    namespace: str  # of objects that name none


def render_file(file: str | InputError, asked: Asked) -> Outcome:
    """The same of a file, which may be one that can't be read."""
    from dynamo_webhooks.cli.files import load_text

    try:
        if isinstance(file, InputError):
            raise file
        text = load_text(file)
    except InputError as error:
        return Outcome([], [error])
    return render_text(file, text, asked)


def render_revision(arguments: argparse.Namespace, files: list[str], asked: Asked) -> Iterator[tuple[Outcome, str]]:
    """The same of files as they are in the revision of `--against`, each with what sentences about it begin with. Raises: UsageError."""
    from dynamo_webhooks.cli.revision import texts_at

    for file, text in texts_at(arguments.against, arguments.paths, files, arguments.exclude).items():
        if isinstance(text, InputError):
            yield Outcome([], [text]), ""
        else:
            yield render_text(file, text, asked), f"{arguments.against}: "


def render_text(name: str, text: str, asked: Asked) -> Outcome:
    """The children of every object in a text, in the order in which the objects stand; the cluster holds all objects of the text.

    Costs as much as the objects, each with what the text holds of the kinds that it depends on.
    """
    unreadable: list[InputError] = []
    documents: list[Document] = []
    for document in read(Source(name, text)):
        if isinstance(document, InputError):
            unreadable.append(document)
        else:
            documents.append(document)
    ours = list(objects(documents))
    stored = [admitted(found.data, asked.facts, asked.namespace) if found.known else None for found in ours]
    taken = {id(found.data) for found in ours}
    others = (one.data for each in documents for one in unfolded(each) if id(one.data) not in taken)
    held = Held([*(one.object for one in stored if one is not None and not one.errors), *others], asked.namespace)
    return Outcome([_rendered(found, one, held, asked) for found, one in zip(ours, stored, strict=True)], unreadable)


def _rendered(found: Found, stored: Admitted | None, held: Held, asked: Asked) -> Made:
    if stored is None:
        return Made(found, None, [], [told(found, (), unknown(found.identity.kind, found.version))])
    if stored.errors:
        return Made(found, None, [], [told(found, path, text) for path, text in stored.errors])
    made = children(stored.object, held, asked.operator)
    problems, notes = ([_located(found, stored.object, one) for one in several] for several in (made.problems, made.notes))
    return Made(found, stored.object, made.children, problems, notes)


def _located(found: Found, obj: Fields, error: RenderError | Note) -> str:
    """A problem or a note in the author's fields: rendering reads one version, people write either."""
    path = error.path
    kind = KINDS.get(found.identity.kind)
    if kind is not None and path[:1] == ("spec",) and found.version != _RENDERED_FROM:
        from dynamo_webhooks.reconciler.render.graph import NEW, converted

        path = translated(kind, path, converted(obj, NEW), found.version, found.data).path
    return told(found, path, error.reason)


def told(found: Found, path: Path, text: str) -> str:
    """A sentence about a field, behind its place in the text."""
    line, column, _ = found.document.value_position(path)
    field = rendered_path(path)
    return shortened(f"{found.document.source.name}:{line}:{column}: {found.identity}: {field}{': ' if field else ''}{text}", LONGEST)


def lay_project(arguments: argparse.Namespace) -> None:
    """Lays line and facts of the project file under the flags; a configuration tells the line itself. Raises: UsageError."""
    lay(arguments, ("line", "facts") if arguments.config is None else ("facts",), arguments.paths)


def choose(known: Facts, config: str | None, *, lenient: bool = False) -> tuple[Operator, str]:
    """What the operator is set to, and what was assumed for it (empty when everything is known).

    Raises: UsageError for a configuration file that can't be used.
    """
    load = cache(partial(_configured, config, lenient=lenient))
    usual = _settings(load()) if config is not None else Settings()
    told = {name: getattr(known, name) for name in ABILITIES if getattr(known, name) is not UNKNOWN}
    version = usual.operator_version if known.operatorVersion is UNKNOWN else str(known.operatorVersion)
    restricted = usual.restricted if known.operatorScope is UNKNOWN else known.operatorScope == "namespace"
    line = of_version(version) if known.operatorLine is UNKNOWN else known.operatorLine
    gate = usual.checkpoints.gate or line >= Line.V1_5
    kept = usual.checkpoints._replace(gate=gate)
    settings = usual._replace(**told, operator_version=version, told_line=line, restricted=restricted, checkpoints=kept)
    assumed = [f"{name}={str(getattr(settings, name)).lower()}" for name in ABILITIES if name not in told]
    assumed += [f"operatorLine={line}"] * (not version and known.operatorLine is UNKNOWN)
    said = f"not known, so assumed: {', '.join(assumed)}; --set-fact or --facts say otherwise" if assumed else ""
    return Operator(settings, load), said


def _settings(configuration: ReconcilerSettings) -> Settings:
    from dynamo_webhooks.reconciler.render.configured import Abilities, settings_from

    return settings_from(configuration, Abilities())


def _configured(config: str | None, *, lenient: bool) -> ReconcilerSettings:
    from dynamo_webhooks.api.operator.projection import reconciler
    from dynamo_webhooks.cli.configuration import load_configuration
    from dynamo_webhooks.cli.output import say

    # the environment is that of whoever asks, and has no say in what another operator renders
    effective = load_configuration(config, {}, lenient=lenient)
    for line in effective.unknown:
        say(f"warning: {line}")
    return reconciler(effective.configuration)


def stream(children: list[Fields], form: str) -> str:
    """All children as YAML documents, or as one JSON list."""
    if form == "json":
        return json_text(children)
    return "".join(f"---\n{yaml_text(one)}" for one in children)


def into_folder(children: list[Fields], folder: str, form: str) -> list[str]:
    """Writes a file for each child, `NAMESPACE/kind-name.yaml`, and returns the paths below the folder; other files there stay.

    Raises: UsageError when the folder can't be written to.
    """
    from pathlib import Path

    paths = []
    for one in children:
        metadata = one["metadata"]
        name = f"{_safe(metadata['namespace'])}/{one['kind'].lower()}-{_safe(metadata['name'])}.{form}"
        target = Path(folder) / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json_text(one) if form == "json" else yaml_text(one), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"-d {folder}: {name} can't be written: {error.strerror}") from None
        paths.append(name)
    return paths


def _safe(name: str) -> str:
    """A name as a part of a path; an object that no cluster would take may be called anything."""
    cut = "".join(character if character.isalnum() or character in "-._" else "_" for character in name)[:200]
    return cut if cut.strip(".") else "_"
