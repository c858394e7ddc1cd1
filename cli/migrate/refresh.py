"""Annotations of conversion as today's converter writes them, in objects whose annotations an older operator or converter wrote.

Pure but for `Refresh`, which writes objects back. Costs six conversions an object, each linear in its size.
"""

from __future__ import annotations

import json
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.kinds import BY_NAME, api_version
from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.migrate.listing import Outage, pages
from dynamo_webhooks.cli.migrate.offline import DIFFERS, REFUSED, name_of
from dynamo_webhooks.cli.migrate.options import Stopped
from dynamo_webhooks.cli.migrate.preflight import GRAPH, WHOLE, line_of, not_ours, resource_of
from dynamo_webhooks.cli.migrate.report import KindReport, Note, Report
from dynamo_webhooks.conversion.difference import differences
from dynamo_webhooks.conversion.kinds import kind_of
from dynamo_webhooks.conversion.legacy import MEMBER, RECORD
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.conversion.remainder import text_of
from dynamo_webhooks.kube.errors import ApiError, ConflictError, NotFoundError, UnavailableError
from dynamo_webhooks.kube.storage_versions import load_definition

if TYPE_CHECKING:
    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.cli.migrate.options import Hands
    from dynamo_webhooks.cli.migrate.progress import Progress
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.kube.resources import Resource

REWRITTEN: Final = "rewritten"
_ATTEMPTS: Final = 5  # at an object that others write meanwhile
_FEW: Final = 5
_LONGEST: Final = 300


class NotTheSameError(Exception):
    """A refreshed object would not say the same as before; the text names fields."""


def refreshed(obj: Node, line: Line) -> Node | None:
    """The object with annotations of today, None if it has them. The object is not changed.

    Raises: ConversionError; NotTheSameError when the other version would read something else of it.
    """
    name, version = str(obj.get("kind")), str(obj.get("apiVersion")).rpartition("/")[2]
    other = BY_NAME[name].other(version)
    here, there = target(api_version(version), line), target(api_version(other), line)
    moved = convert_object(obj, there).object
    made = convert_object(_forgetful(moved, kind_of(name, line).spec_key), here).object
    if not differences(made, obj):
        return None
    # both as they are stored, and as clients hold them before they are stored, when a converter takes no object for a part of one
    pairs = [(convert_object(made, there).object, moved), tuple(convert_object(_unstored(one), there).object for one in (made, obj))]
    changed = [entry for one, other in pairs for part in ("spec", "status") for entry in differences(_part(one, part), _part(other, part))]
    changed += [entry for entry in differences(made, obj) if len(entry) == 2 and entry[0][0] == "spec"]  # set before, and not any more
    if changed:
        raise NotTheSameError(_fields(changed))
    return made


def _unstored(obj: Node) -> Node:
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "uid"}}


def _part(obj: Node, name: str) -> Node:
    return {name: obj.get(name)}


def _forgetful(obj: Node, key: str) -> Node:
    """The converted object without the memory of how older annotations were spelt."""
    metadata = obj["metadata"]
    before = metadata.get("annotations") or {}
    annotations = {name: text for name, text in before.items() if name != RECORD}
    try:
        envelope = json.loads(annotations.get(key) or "null")
    except ValueError:
        envelope = None
    if isinstance(envelope, dict) and MEMBER in envelope:
        del envelope[MEMBER]
        annotations[key] = text_of(envelope)
    return obj if annotations == before else {**obj, "metadata": {**metadata, "annotations": annotations}}


def _fields(changed: list[Any]) -> str:
    more = f" and {len(changed) - _FEW} more" if len(changed) > _FEW else ""
    return shortened(", ".join(render(tuple(entry[0])) or "the object" for entry in changed[:_FEW]) + more, _LONGEST)


class Refresh:
    """Rewrites the annotations of all objects, each after a dry run of the same write."""

    def __init__(self, hands: Hands, progress: Progress) -> None:
        """Begins with an empty report."""
        self._hands, self._progress, self._outage = hands, progress, Outage(hands)
        self.report = Report("", hands.options.namespace, hands.options.dry_run, rewrite=True)

    async def run(self) -> Report:
        """Does it kind by kind, as far as it gets."""
        began = monotonic()
        try:
            await self._kinds()
        except Stopped:
            self.report.stopped = True
        except ApiError as error:
            self.report.failed, self.report.unreachable = error.message, isinstance(error, UnavailableError)
        finally:
            self._progress.end()
            self.report.seconds = monotonic() - began
        return self.report

    async def _kinds(self) -> None:
        line = line_of(await load_definition(self._hands.cluster, BY_NAME[GRAPH].crd_name))
        for name in self._hands.options.kinds:
            found = await load_definition(self._hands.cluster, BY_NAME[name].crd_name)
            if found is not None and found.kind != name:
                self.report.blocked.append(not_ours(found, name))
                continue
            if found is None or not found.storage:
                self.report.blocked.append(f"{BY_NAME[name].crd_name}: the CustomResourceDefinition is not there")
                continue
            one = KindReport(name, found.storage, found.storage, [*found.stored], [*found.stored])
            self.report.kinds.append(one)
            resource = resource_of(found, found.storage)
            async for page in pages(self._hands, self._outage, resource, limit=WHOLE, brief=False):
                for obj in page:
                    self._hands.check()
                    await self._object(obj, resource, one, line)
                    self._progress.census(one)

    async def _object(self, obj: Node, resource: Resource, one: KindReport, line: Line) -> None:
        one.objects += 1
        name, metadata = name_of(obj), obj["metadata"]
        for _ in range(_ATTEMPTS):
            try:
                made = refreshed(obj, line)
                if made is None:
                    one.already_there = (one.already_there or 0) + 1
                    return
                if not self._hands.options.dry_run:
                    await self._write(made, resource)
            except ConflictError:
                now = await self._hands.cluster.get(resource, metadata["name"], metadata.get("namespace", ""))
                if now is None:
                    one.objects -= 1
                    return
                obj = now
                continue
            except NotFoundError:
                one.objects -= 1
                return
            except NotTheSameError as error:
                one.notes.add(Note(name, DIFFERS, f"is left as it is, because the other version would read it differently: {error}"))
                return
            except ConversionError as error:
                self._refused(one, name, f"{render(error.path)}: {error.reason}")
                return
            except UnavailableError:
                raise
            except ApiError as error:
                self._refused(one, name, error.message)
                return
            one.moved = (one.moved or 0) + 1
            one.notes.add(Note(name, REWRITTEN, _fields(differences(made, obj))))
            return
        self._refused(one, name, "is written by others all the time")

    async def _write(self, made: Node, resource: Resource) -> None:
        """Writes, when a dry run says that nothing else would change. Raises: NotTheSameError, ApiError."""
        tried = await self._hands.cluster.replace(resource, made, dry_run=True)
        if changed := differences({"spec": tried.get("spec")}, {"spec": made.get("spec")}):
            raise NotTheSameError(f"the API server would also change {_fields(changed)}")
        await self._hands.cluster.replace(resource, made)

    @staticmethod
    def _refused(one: KindReport, name: str, text: str) -> None:
        one.refused += 1
        one.notes.add(Note(name, REFUSED, shortened(text, _LONGEST)))
