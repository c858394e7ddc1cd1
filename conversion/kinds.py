"""The table of converting kinds, by name; declarations are imported on first use."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Final

from ..api.line import OLDEST, Line
from .kind import LEFT, RIGHT, Kind
from .lens.protocol import Fields, Row

_DECLARATIONS: Final = {
    "DynamoGraphDeployment": ("dynamo_webhooks.conversion.graph", "GRAPH"),
    "DynamoComponentDeployment": ("dynamo_webhooks.conversion.component_deployment", "COMPONENT_DEPLOYMENT"),
    "DynamoGraphDeploymentScalingAdapter": ("dynamo_webhooks.conversion.graph", "SCALING"),
    "DynamoGraphDeploymentRequest": ("dynamo_webhooks.conversion.request", "REQUEST"),
}


@cache
def kind_of(name: str, line: Line) -> Kind:
    """The declaration of a kind for the definitions of a line. Raises KeyError for one with a single version, or an unknown one."""
    module, declaration = _DECLARATIONS[name]
    kind: Kind = getattr(import_module(module), declaration)
    if kind.line is line:
        return kind
    # annotations of operators 1.0 and 1.1 are read for ever, and written for line 1.2 alone
    legacy = None if kind.legacy is None else kind.legacy._replace(write=_nothing)
    return kind._replace(line=line, legacy=legacy if line >= Line.V1_3 else kind.legacy)


def _nothing(_source: Fields, _rightward: bool) -> dict[str, str]:
    return {}


class _Table(Mapping[str, "Kind"]):
    """The declarations without a line, for fields and annotations, which all lines share. They are imported on demand."""

    def __getitem__(self, name: str) -> Kind:
        return kind_of(name, OLDEST)

    def __iter__(self) -> Iterator[str]:
        return iter(_DECLARATIONS)

    def __len__(self) -> int:
        return len(_DECLARATIONS)

    def __contains__(self, name: object) -> bool:
        return name in _DECLARATIONS


KINDS: Final[Mapping[str, Kind]] = _Table()


def format_field_map(kind: str) -> str:
    """The table of one kind as text in columns."""
    table = [(f"{LEFT}", f"{RIGHT}", ""), *((left or "-", right or "-", rule) for left, right, rule in field_rows(KINDS[kind]))]
    widths = [max(len(row[column]) for row in table) for column in range(2)]
    return "".join(f"{left:<{widths[0]}}  {right:<{widths[1]}}  {rule}".rstrip() + "\n" for left, right, rule in table)


def field_rows(kind: Kind) -> Iterator[Row]:
    """The map of one kind: the members of either version with their whole paths, and what happens, for people."""
    for part, struct in (("spec", kind.spec), ("status", kind.status)):
        for row in struct.rows():
            yield row.below(part, part)
