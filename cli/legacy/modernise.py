"""Writes a legacy document as today's object: walks it along the declaration of its kind, with a row for every leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.kinds import ALPHA, api_version
from dynamo_webhooks.api.paths import MISSING, Key
from dynamo_webhooks.api.schema import Node, load_schema
from dynamo_webhooks.cli.legacy.claims import Claims
from dynamo_webhooks.cli.legacy.copying import NOTHING, Copying, node_at
from dynamo_webhooks.cli.legacy.fields import Field, How, LegacyKind, Steps
from dynamo_webhooks.cli.legacy.images import has_image, image_of, lacking, use
from dynamo_webhooks.cli.legacy.kinds import KINDS, SERVICES
from dynamo_webhooks.cli.legacy.recognise import recognised
from dynamo_webhooks.cli.legacy.rows import DECIDE, MAPPED, NO_EQUIVALENT, Modernised, Row, leaves, step
from dynamo_webhooks.cli.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dynamo_webhooks.api.paths import Path

_SHARED: Final = "dynamo"  # the Dynamo namespace of all components with globalDynamoNamespace
_SERVICELESS: Final = "must describe the components: the old operator took them from the build"
_IMAGES_NAMED: Final = "not needed today: every component names its image"
_WILD: Final = "*"
_METADATA: Final[Node] = {
    "$ref": "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "properties": {"generateName": {"type": "string"}},
}


def modernised(data: dict[str, Any], others: Iterable[object] = ()) -> Modernised:
    """What a legacy document is today. `others` are the documents of the same run, which may tell images; nothing is changed.

    Raises: KeyError when the document is not `recognised`.
    """
    return _Making(KINDS[recognised(data) or ""], data, others).run()


class _Making:
    """One document on its way."""

    def __init__(self, kind: LegacyKind, data: dict[str, Any], others: Iterable[object]) -> None:
        self.kind = kind
        self.data = data
        self.others = others
        self.table = kind.table
        self.inner = {steps[:end] for steps in self.table for end in range(1, len(steps))}
        self.schema = schema_of(kind.becomes) if kind.becomes else {}
        self.made: dict[str, Any] = {"apiVersion": api_version(ALPHA), "kind": kind.becomes}
        self.rows: list[Row] = []
        self.needs: list[Row] = []
        self.later: list[tuple[Field, Any, Path]] = []  # what can be done only when the components are there

    def run(self) -> Modernised:
        """Walks the document once, and then does what had to wait."""
        for key, value in self.data.items():
            self._visit(value, (step(key),), (key,))
        if self.kind.becomes:
            self.made.setdefault("spec", {})
            self._claims()
            self._images()
            self._needs()
        order = {leaf: index for index, leaf in enumerate(leaves(self.data, ()))}
        rows = tuple(sorted(self.rows, key=lambda row: order[row.field]))
        return Modernised(self.kind.name, self._name(), [self.made] if self.kind.becomes else [], rows, tuple(self.needs))

    def _visit(self, value: Any, path: Path, pattern: Steps) -> None:
        field = self.table.get(pattern)
        if value is None and ".".join(pattern) == self.kind.components:
            value = {}  # a component that is named and nothing more
        if field is not None:
            self._treat(field, value, path)
        elif pattern not in self.inner:
            self._same(value, path)
        elif isinstance(value, dict) and value:
            if node_at(self.schema, path) is not None:
                self._place(path, {})
            is_map = "additionalProperties" in (node_at(self.schema, path) or {})
            for key, child in value.items():
                self._visit(child, (*path, Key(key) if is_map else step(key)), self._below(pattern, key))
        else:
            self._same(value, path)

    def _below(self, pattern: Steps, key: str) -> Steps:
        """The name under which a key is declared: its own, or the one for any key."""
        exact, free = (*pattern, key), (*pattern, _WILD)
        return free if exact not in self.table and (free in self.table or free in self.inner) else exact

    def _treat(self, field: Field, value: Any, path: Path) -> None:
        if field.how in (How.GONE, How.DECIDE):
            Copying(self.rows).left(value, path, NO_EQUIVALENT if field.how is How.GONE else DECIDE, field.text)
        elif field.how in (How.IMAGE, How.CLAIM):
            self.later.append((field, value, path))
        elif field.how is How.NAMESPACE:
            self._namespace(field, value, path)
        else:
            self._same(value, path)

    def _same(self, value: Any, path: Path) -> None:
        """Copies what today's kind has the same field for."""
        copying = Copying(self.rows)
        node = node_at(self.schema, path)
        if value is None:
            copying.left(value, path, NO_EQUIVALENT, NOTHING)
        elif node is None:
            above = node_at(self.schema, path[:-1]) or {}
            copying.left(value, path, NO_EQUIVALENT, f"no field today{hint(str(path[-1]), above.get('properties') or {})}")
        else:
            copied = copying.copied(value, node, path, path)
            if copied is not MISSING:
                self._place(path, copied)

    def _place(self, path: Path, value: Any) -> None:
        """Puts a value where it belongs, and whatever blocks are above it; what is there already stays."""
        into = self.made
        for part in path[:-1]:
            into = into.setdefault(str(part), {})
        into.setdefault(str(path[-1]), value)

    def _namespace(self, field: Field, value: Any, path: Path) -> None:
        if value != _SHARED:
            Copying(self.rows).left(value, path, NO_EQUIVALENT, field.text)
            return
        to = (*path[:-1], field.to.rpartition(".")[2])
        self._place(to, True)
        self.rows.append(Row(path, MAPPED, to, "", path))

    def _components(self) -> list[tuple[Path, dict[str, Any]]]:
        """The blocks that describe a component each."""
        if self.kind.components != SERVICES:
            return [(("spec",), self.made["spec"])]
        return [(("spec", "services", Key(name)), block) for name, block in self.made["spec"].get("services", {}).items()]

    def _claims(self) -> None:
        claims = Claims(self.made, self.schema, self.rows, self.needs)
        blocks = dict(self._components())
        for field, value, path in self.later:
            if field.how is not How.CLAIM:
                continue
            if isinstance(value, dict) and value:
                fields = {steps[-1]: each for steps, each in self.table.items() if steps[:-1] == field.steps}
                claims.mount(value, path, blocks[path[:-1]], fields)
            elif value:
                Copying(self.rows).copied(value, {"type": "object"}, path, path)
            else:
                Copying(self.rows).left(value, path, NO_EQUIVALENT, NOTHING)
        claims.finish()

    def _images(self) -> None:
        for field, value, path in self.later:
            if field.how is How.IMAGE:
                self._image(field, value, path)

    def _image(self, field: Field, value: Any, path: Path) -> None:
        metadata = self.data.get("metadata")
        image = image_of(value, metadata.get("namespace") if isinstance(metadata, dict) else None, self.others)
        without = [(block, component) for block, component in self._components() if not has_image(component)]
        if not without and self._components():
            Copying(self.rows).left(value, path, NO_EQUIVALENT, _IMAGES_NAMED)
        elif image is None or not without:
            Copying(self.rows).left(value, path, DECIDE, field.text)
        else:
            for _, component in without:
                use(image, component)
            more = f", in this and {len(without) - 1} more" if len(without) > 1 else ""
            to = (*without[0][0], "extraPodSpec", "mainContainer", "image")
            self.rows.append(Row(path, MAPPED, to, f"the image of the build{more}", path))

    def _needs(self) -> None:
        components = self._components()
        if not components:
            place: Path = ("spec", "services")
            self.needs.append(Row(place, DECIDE, (), _SERVICELESS, place))
        for path, component in components:
            if lacks := lacking(component):
                self.needs.append(Row(path, DECIDE, (), f"must say what the build knew: {', '.join(lacks)}", path))

    def _name(self) -> str:
        metadata = self.data.get("metadata")
        names = [metadata.get(key) for key in ("namespace", "name")] if isinstance(metadata, dict) else []
        return "/".join(name for name in names if isinstance(name, str) and name)


def schema_of(kind: str) -> Node:
    """Today's schema with that of metadata, which a CustomResourceDefinition leaves to the API server."""
    schema = load_schema(kind, ALPHA)
    return {**schema, "properties": {**schema["properties"], "metadata": _METADATA}}
