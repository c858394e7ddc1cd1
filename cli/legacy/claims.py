"""The one volume claim of a legacy component: a claim of the graph and a mount of the component today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.paths import MISSING
from dynamo_webhooks.cli.legacy.copying import Copying, node_at
from dynamo_webhooks.cli.legacy.fields import Field, How
from dynamo_webhooks.cli.legacy.rows import DECIDE, NO_EQUIVALENT, Row, step

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.api.schema import Node

_CLAIMS: Final[Path] = ("spec", "pvcs")
_FOR_CREATING: Final = ("size", "storageClass", "volumeAccessMode")
_NAMELESS: Final = "must have a name (text) before it can be mounted; nothing of it is mapped"
_UNMOUNTED: Final = "must say where it is mounted: set volumeMounts[].mountPoint"
_OTHERWISE: Final = "differs from what was said of the same claim before; it is left out"
_INCOMPLETE: Final = (
    "was made by the old operator; today's makes a claim only with size, storageClass and volumeAccessMode: complete spec.pvcs[] and "
    "set create there, or make the claim beforehand"
)


class Claims:
    """The claims of one object on their way; `made` and both lists of rows grow."""

    def __init__(self, made: dict[str, Any], schema: Node, rows: list[Row], needs: list[Row]) -> None:
        """Begins with the object in which the components already lie; tells into `rows` and `needs`."""
        self.made = made
        self.schema = schema
        self.rows = rows
        self.needs = needs
        self.seen: dict[str, Path] = {}  # claims of the graph by name, each with the block that named it first

    def mount(self, value: dict[str, Any], source: Path, component: dict[str, Any], fields: dict[str, Field]) -> None:
        """Splits one `pvc` block; `fields` are the declared ones by their own names."""
        copying = Copying(self.rows)
        name = value.get("name")
        if not isinstance(name, str) or not name:
            copying.left(value, source, DECIDE, _NAMELESS)
            return
        mounts = component.setdefault("volumeMounts", [])
        mount_path: Path = (*source[:-1], "volumeMounts", len(mounts))
        mounts.append(mount := {"name": name})
        claim, claim_path = self._claim(name, source, fields)
        for key, child in value.items():
            field, leaf = fields.get(key), (*source, step(key))
            if field is None:
                copying.left(child, leaf, NO_EQUIVALENT, "no field of a claim today")
            elif field.how is How.DECIDE:
                copying.left(child, leaf, DECIDE, field.text)
            else:
                into, path = (claim, claim_path) if field.to.startswith("spec.pvcs") else (mount, mount_path)
                self._put(child, leaf, into, (*path, field.to.rpartition(".")[2]), field.text)
        if "mountPoint" not in mount:
            self.needs.append(Row(source, DECIDE, (), _UNMOUNTED, source))

    def finish(self) -> None:
        """Makes claims that are complete and that nobody forbade to make; says so of the others."""
        for index, claim in enumerate(self.made["spec"].get("pvcs", [])):
            source = self.seen.get(claim.get("name", ""))
            if source is None or claim.get("create") is False:
                continue
            if all(key in claim for key in _FOR_CREATING):
                claim["create"] = True
                continue
            claim.pop("create", None)
            to = (*_CLAIMS, index, "create")
            if not any(row.to == to for row in self.rows):
                self.needs.append(Row(source, DECIDE, (), _INCOMPLETE, source))
            self.rows[:] = [row._replace(outcome=DECIDE, to=(), text=_INCOMPLETE) if row.to == to else row for row in self.rows]

    def _claim(self, name: str, source: Path, fields: dict[str, Field]) -> tuple[dict[str, Any], Path]:
        """The claim of the graph with that name, a new one if need be; a component of its own has none."""
        if not fields["name"].to.startswith("spec.pvcs"):
            return {}, ()
        self.seen.setdefault(name, source)
        claims = self.made["spec"].setdefault("pvcs", [])
        for index, claim in enumerate(claims):
            if claim.get("name") == name:
                return claim, (*_CLAIMS, index)
        claims.append({"name": name})
        return claims[-1], (*_CLAIMS, len(claims) - 1)

    def _put(self, value: object, source: Path, into: dict[str, Any], to: Path, text: str) -> None:
        told: list[Row] = []
        node = node_at(self.schema, to)
        copied = Copying(told).copied(value, node or {}, source, to)
        key = str(to[-1])
        if copied is not MISSING and into.setdefault(key, copied) != copied:
            told = []
            Copying(told).left(value, source, DECIDE, _OTHERWISE)
        self.rows += [row._replace(text=row.text or text) for row in told]
