"""Reads the two sides of a comparison, matches their objects whatever their versions, and compares each pair."""

from __future__ import annotations

import copy
import os
import posixpath
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ....conversion.kinds import KINDS
from ....policies.checks import UNKNOWN_FIELD
from ....policies.review import CREATE, UPDATE, Fields
from ...files.budget import limit_cpu
from ...files.documents import read_documents
from ...files.find import find_files, is_excluded
from ...files.revision import GitTrees, list_below
from ...objects.forms import FormError, SimulatedServer, complete, read_in_version
from ...objects.manifest import Identity, Manifest, find_manifests, set_namespace
from ...objects.pairs import FileValue, pair_up
from ...objects.stored import StoredInFiles, StoredObject, apply_to, format_location, is_live, store_as
from ...validation.finding import LocatedFinding, ValidationOutcome, merge_duplicates
from ...validation.levels import ERROR
from ...validation.pipeline import ValidationSettings, check_object
from ...yaml.load import InputError, Source
from .compare import ADDED, CHANGED, REMOVED, Difference, find_differences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ....api.line import Line
    from ...objects.cluster_snapshot import StoredInCluster


EQUAL: Final = "equal"
FAILED: Final = "failed"


class DiffRequest(NamedTuple):
    """Options of a run, the same for every object."""

    server: SimulatedServer
    to: str = ""  # the version to compare in; empty: that of the new object
    live: bool = False  # whether the old side is a cluster, which answers new objects
    phases: Mapping[str, str] | None = None  # of its namespaces

    @property
    def settings(self) -> ValidationSettings:
        """The settings by which the update is judged."""
        return ValidationSettings(*self.server)._replace(phases=self.phases, in_cluster=self.live)


class DiffSide(NamedTuple):
    """The objects of one side, in order, and what of it could not be read; `path` holds its files, in a revision of git or today."""

    objects: list[Manifest]
    unreadable: list[InputError]
    revision: str = ""
    path: str = ""

    def file(self, manifest: Manifest) -> str:
        """The file of an object, from the side's path."""
        return os.path.relpath(manifest.document.source.name.removeprefix(f"{self.revision}:"), self.path or ".")


class ObjectPair(NamedTuple):
    """One object on both sides, or on one of them."""

    identity: Identity
    old: Manifest | None
    new: Manifest | None


class ObjectComparison(NamedTuple):
    """The comparison of one object."""

    pair: ObjectPair
    what: str  # added, removed, changed, equal or failed
    version: str = ""  # in which the two were compared
    differences: Sequence[Difference] = ()
    spelling: Sequence[Difference] = ()
    rewritten: bool = False  # the two are written differently, though nothing differs
    findings: Sequence[LocatedFinding] = ()
    failure: str = ""


def load_side(path: str, excluded: Sequence[str]) -> DiffSide:
    """The objects that a file, a folder, standard input or a path of a git revision (`main:deploy`) holds.

    Raises: UsageError when there is no such revision.
    """
    side = DiffSide([], [], *split_revision(path))
    for file in _files(path, excluded):
        try:
            with limit_cpu(file if isinstance(file, str) else file.name):
                read = list(read_documents(file, ""))
        except InputError as error:
            read = [error]
        for document in read:
            if isinstance(document, InputError):
                side.unreadable.append(document)
            else:
                side.objects.extend(find_manifests([document]))
    return side


def load_live_sides(path: str, excluded: Sequence[str], live: StoredInCluster, namespace: str, line: Line) -> tuple[DiffSide, DiffSide]:
    """The stored objects that files name, and the same with the files applied; new objects are on the second side only.

    A stored object that can't be read is unreadable there, and the file's object is left out. `namespace` is that of objects
    that name none.
    """
    old, files = DiffSide([], []), load_side(path, excluded)
    new = DiffSide([], files.unreadable)
    for written in files.objects:
        manifest = set_namespace(written, namespace)
        past = live.find_stored(manifest, line) if manifest.known else StoredObject()
        if isinstance(past, InputError) or past.reason:
            old.unreadable.append(past if isinstance(past, InputError) else InputError(past.reason, format_location(manifest)))
            continue
        stored = live.stored(manifest.identity)
        if stored is not None and past.applied is not None:
            old.objects.append(stored)
            manifest.document.data = past.applied
        new.objects.append(manifest if stored is None else manifest._replace(identity=stored.identity))
    return old, new


def pair_objects(old: DiffSide, new: DiffSide) -> list[ObjectPair]:
    """Matches the objects, sorted by identity; several of one identity are matched by file, else in their order.

    One without a namespace matches the only one of its name on the other side: files often leave the namespace to kubectl.
    """
    sides = ([FileValue(side.file(manifest), manifest.identity, manifest) for manifest in side.objects] for side in (old, new))
    both = pair_up(*sides)
    matches = [ObjectPair(was.value.identity, was.value, now.value) for was, now in both if was and now]
    olds = [was.value for was, now in both if was and not now]
    news = [now.value for was, now in both if now and not was]
    alone, matched = _alone(olds), set()
    for name, theirs in _alone(news).items():
        mine = alone.get(name)
        if mine is not None and bool(mine.identity.namespace) != bool(theirs.identity.namespace):
            matches.append(ObjectPair(max(mine.identity, theirs.identity), mine, theirs))
            matched |= {id(mine), id(theirs)}
    matches += [ObjectPair(manifest.identity, manifest, None) for manifest in olds if id(manifest) not in matched]
    matches += [ObjectPair(manifest.identity, None, manifest) for manifest in news if id(manifest) not in matched]
    return sorted(matches, key=lambda pair: (pair.identity, pair.new is None))


def _alone(manifests: Iterable[Manifest]) -> dict[tuple[str, str], Manifest]:
    """Those whose kind and name occur once."""
    by_name: dict[tuple[str, str], list[Manifest]] = {}
    for manifest in manifests:
        by_name.setdefault((manifest.identity.kind, manifest.identity.name), []).append(manifest)
    return {name: same[0] for name, same in by_name.items() if len(same) == 1}


def split_revision(path: str) -> tuple[str, str]:
    """The revision of git that a path is in, empty for none, and the path there."""
    if os.path.exists(path) or ":" not in path:  # noqa: PTH110 - pathlib's raises for a path that is too long
        return "", path
    revision, _, below = path.partition(":")
    return revision, below


def _files(path: str, excluded: Sequence[str]) -> Iterable[str | Source | InputError]:
    revision, below = split_revision(path)
    if not revision and below == path:
        return find_files([path], excluded)
    return list(_at(revision, below, excluded)) or [InputError("does not exist in that revision", path)]


def _at(revision: str, path: str, excluded: Sequence[str]) -> Iterator[Source | InputError]:
    """The files of a path in a revision, sorted; their names include the revision."""
    tree, name = GitTrees(revision, "the revision").locate(path or ".")
    names = {path: name} if name in tree else {posixpath.normpath(f"{path or '.'}/{file}"): full for file, full in list_below(tree, name)}
    shown = {full: file for file, full in sorted(names.items()) if not is_excluded(file, excluded)}
    for full, text in tree.texts(shown):
        yield text if isinstance(text, InputError) else Source(f"{revision}:{shown[full]}", text)


def find_source(pair: ObjectPair) -> str:
    """The name of the file of a pair: the new one if there is one."""
    manifest = pair.new or pair.old
    return manifest.document.source.name if manifest else ""


def compare_pair(pair: ObjectPair, request: DiffRequest) -> ObjectComparison:
    """Compares one pair; an object that can't be is one that failed, with the reason."""
    if pair.new is None:
        return ObjectComparison(pair, REMOVED)
    if pair.old is None:
        answered = check_object(pair.new, CREATE, None, request.settings) if request.live else ValidationOutcome([], [])
        return ObjectComparison(pair, ADDED, pair.new.version if request.live else "", findings=_sorted(answered))
    old, new, kind, line = pair.old, pair.new, pair.identity.kind, request.server.line
    drifted, applied = is_live(new) and not is_live(old), not request.live and new.known and is_live(old) and not is_live(new)
    version = request.to if request.to and kind in KINDS else new.version
    try:
        with limit_cpu(find_source(pair)):
            # the namespace that only one side names is the same one: it decided the match
            held = read_in_version(complete(new, request.server, None), old.version, line) if drifted else None
            before = _placed(complete(old, request.server, held), pair)
            if applied:
                new.document.data = _applied(old, new, line)
            after = _placed(complete(new, request.server, read_in_version(before, new.version, line)), pair)
            differences = find_differences(before, after, kind, version, line)
            real = [difference for difference in differences if not difference.change.spelling]
            spelt = [difference for difference in differences if difference.change.spelling]
            rewritten = not real and old.data != new.data
            # what a cluster holds is no update of a file
            findings = _findings(old, new, request) if (real or rewritten) and not drifted else []
            if not real:  # what makes no difference may be refused all the same, as a field that no version has is
                findings = [
                    finding for finding in findings if finding.rule == UNKNOWN_FIELD.name or (request.live and finding.level == ERROR)
                ]
    except (FormError, InputError) as error:
        return ObjectComparison(pair, FAILED, failure=str(error))
    return ObjectComparison(pair, CHANGED if real or findings else EQUAL, version, real, spelt, rewritten, findings)


def _applied(old: Manifest, new: Manifest, line: Line) -> Fields:
    """A file's object as kubectl applies it to one of a cluster."""
    stored = store_as(old, new.version, line)
    if isinstance(stored, InputError):
        raise stored
    return apply_to(old.data, stored, new).applied or new.data


def _placed(obj: Fields, pair: ObjectPair) -> Fields:
    namespace = pair.identity.namespace
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "namespace": namespace}} if namespace else obj


def _findings(old: Manifest, new: Manifest, request: DiffRequest) -> list[LocatedFinding]:
    """Check the update as `check` does. Both objects' data are changed on the way."""
    was = StoredInFiles([old._replace(identity=new.identity)]).of(new, request.server.line)
    if isinstance(was, InputError):
        raise FormError(was.text)
    return _sorted(check_object(new, UPDATE, copy.deepcopy(was), request.settings))


def _sorted(outcome: ValidationOutcome) -> list[LocatedFinding]:
    return merge_duplicates(sorted(outcome.findings, key=lambda finding: finding.order))
