"""Parts of schemas that pydantic can't express: formats, list types, free-form objects, quantities, embedded Kubernetes types."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from pydantic import Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from ..line import Line
from ..schema import BELOW, PRESERVE, SINCE

DOMAIN_PATTERN: Final = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
LABEL_PATTERN: Final = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
COMPONENT_PATTERN: Final = "^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$"
LABEL_KEY_PATTERN: Final = (
    r"^(([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*/)?([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$"
)
VERSION_PATTERN: Final = r"^(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})$"
# The API server's own pattern for quantities in CustomResourceDefinitions.
QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
EMBEDDED: Final = "x-embedded"  # instead of `$ref`, which pydantic would resolve itself
ALSO_REQUIRED: Final = "x-required"
STATED_TWICE: Final = "x-stated-twice"


@dataclass(frozen=True, slots=True, eq=False)
class Facets:
    """Adds keywords to the schema of the annotated type, or takes its place when `whole`."""

    values: Mapping[str, object]
    whole: bool = False

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Called by pydantic when it writes the schema of a field."""
        return dict(self.values) if self.whole else {**handler(core), **self.values}


def since(line: str) -> Facets:
    """Marks a field as one that lines below this one lack."""
    return Facets({SINCE: str(Line(line))})


def below(line: str, **keywords: object) -> Facets:
    """Says which keywords a field has instead on lines below this one; None is none."""
    return Facets({BELOW: {str(Line(line)): keywords}})


def required_below(line: str, rules: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The schema of an object with CEL rules, and with members that are required on lines below this one instead."""
    return {**rules, BELOW: {line: {**rules[BELOW][line], "required": sorted(names)}}}


def reference_kubernetes_type(definition: str, **changes: object) -> Facets:
    """Names a Kubernetes type by its definition; changes override its keywords, and `properties` among them are added to its own."""
    return Facets({EMBEDDED: definition, **changes}, whole=True)


FREE_FORM: Final[dict[str, object]] = {"type": "object", PRESERVE: True}
Int32: TypeAlias = Annotated[int, Facets({"format": "int32"})]
Int64: TypeAlias = Annotated[int, Facets({"format": "int64"})]
Float32: TypeAlias = Annotated[float, Facets({"format": "float"})]
Time: TypeAlias = Annotated[str, Facets({"format": "date-time"})]
Texts: TypeAlias = dict[str, str]
Anything: TypeAlias = Annotated[Any, Facets({PRESERVE: True}, whole=True)]
FreeForm: TypeAlias = Annotated[dict[str, Any], Facets(FREE_FORM, whole=True)]
EmbeddedObject: TypeAlias = Annotated[dict[str, Any], Facets({**FREE_FORM, "x-kubernetes-embedded-resource": True}, whole=True)]
Quantity: TypeAlias = Annotated[
    int | str,
    Facets(
        {"anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": QUANTITY_PATTERN, "x-kubernetes-int-or-string": True},
        whole=True,
    ),
]
Envelope: TypeAlias = Annotated[
    dict[str, Any],
    Facets(
        {**FREE_FORM, "description": "What a request has that was written as v1beta2; only that version may change it."},
        whole=True,
    ),
    since("1.7"),
]
Domain: TypeAlias = Annotated[str, Field(pattern=DOMAIN_PATTERN)]
ContainerName: TypeAlias = Annotated[str, Field(pattern=LABEL_PATTERN, min_length=1, max_length=63)]
Filled: TypeAlias = Annotated[str, Field(min_length=1)]
AS_SET: Final = Facets({"x-kubernetes-list-type": "set"})
ContainerNames: TypeAlias = Annotated[list[ContainerName], AS_SET]
VersionOverride: TypeAlias = Annotated[
    str, Field(pattern=VERSION_PATTERN, description="Version of Dynamo in the image if its tag does not contain it."), since("1.5")
]
BRIEF: Final = Facets({"x-brief": True})  # two more whole templates would not fit into the annotation of `kubectl apply`
BY_NAME: Final = Facets({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]})
BY_TYPE: Final = Facets({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]})
REQUIRED_ANYWAY: Final = Facets({ALSO_REQUIRED: True})
# The Go operator's schemas state these enums on the type and again on the field, as two parts of an `allOf`: a refused value then
# has one cause more. Kept, so that both answer alike.
TWICE: Final = Facets({STATED_TWICE: True})
