"""The table of converting kinds, by name; declarations are imported on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.kind import Kind

_PLACES: Final = MappingProxyType(
    {
        "DynamoGraphDeployment": ("dynamo_webhooks.conversion.graph", "GRAPH"),
        "DynamoComponentDeployment": ("dynamo_webhooks.conversion.component_deployment", "COMPONENT_DEPLOYMENT"),
        "DynamoGraphDeploymentScalingAdapter": ("dynamo_webhooks.conversion.scaling", "SCALING"),
        "DynamoGraphDeploymentRequest": ("dynamo_webhooks.conversion.request", "REQUEST"),
    }
)


@cache
def kind_of(name: str) -> Kind:
    """The declaration of a kind. Raises KeyError for one with a single version, or an unknown one."""
    module, declaration = _PLACES[name]
    kind: Kind = getattr(import_module(module), declaration)
    return kind


class _Table(Mapping[str, "Kind"]):
    """A mapping whose values are imported on demand."""

    def __getitem__(self, name: str) -> Kind:
        return kind_of(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)

    def __contains__(self, name: object) -> bool:
        return name in _PLACES


KINDS: Final[Mapping[str, Kind]] = _Table()
