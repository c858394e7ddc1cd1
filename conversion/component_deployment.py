"""DynamoComponentDeployment: the declaration of its spec, a component with its own name, and of its status."""

from collections.abc import Iterator
from typing import Final

from .component import lenses
from .kind import Kind, check_coverage, remainder_keys
from .lens.protocol import Context, Fields, Group, Row
from .lens.simple import OneSided, Rename, same
from .lens.struct import Struct
from .services import REPLICAS

NAME: Final = "DynamoComponentDeployment"


class Name(Group):
    """The component's name; by default the object's, unless it was empty in v1beta1."""

    left: tuple[str, ...] = ("serviceName",)
    right: tuple[str, ...] = ("name",)

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Mark a name that is only the object's."""
        name = left.get("serviceName")
        if name:
            right["name"] = name
        elif context.name and remainder.get("name") != "":
            right["name"] = context.name
            save["serviceName"] = None

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Omit a marked name that is still the object's."""
        name = right.get("name")
        if name and not ("serviceName" in remainder and remainder["serviceName"] is None and name == context.name):
            left["serviceName"] = name

    def rows(self) -> Iterator[Row]:
        """One row."""
        yield Row("serviceName", "name", "where absent in v1alpha1, the object's name")


class Named(Struct):
    """A struct whose name may be outside of it, so the lens of the name always runs first."""

    def forward(self, left: Fields, remainder: Fields, save: Fields, context: Context, into: Fields | None = None) -> Fields:
        """Convert as any struct does; a template composed of flat fields is marked as composed."""
        right = super().forward(left, remainder, save, context, into)
        if not save and not context.has_remainder and "podTemplate" in right:
            save["serviceName"] = left.get("serviceName") or ""
        return right

    def backward(self, right: Fields, remainder: Fields, save: Fields, context: Context) -> Fields:
        """Convert as any struct does; saved values include the name, and a missing name is saved."""
        left = super().backward(right, remainder, save, context)
        if save or (context.name and not right.get("name")) or (not context.has_remainder and type(right.get("podTemplate")) is dict):
            self.sign(right, save)
        return left

    def sign(self, right: Fields, save: Fields) -> None:
        """Add the name: the Go operator takes a remainder without one for that of a nameless component."""
        save["name"] = right.get("name") or ""


_NAMED: Final = Name()
SPEC: Final = Named(*lenses(), *same("backendFramework"), _NAMED, first=_NAMED)
STATUS: Final = Struct(
    *same("observedGeneration", "conditions"), OneSided(left=("podSelector",), save_if=bool), Rename("service", "component", REPLICAS)
)

check_coverage(SPEC, NAME, "spec", "spec")
check_coverage(STATUS, NAME, "status", "status")

COMPONENT_DEPLOYMENT: Final = Kind(NAME, *remainder_keys("dcd"), SPEC, STATUS, marked=True)
