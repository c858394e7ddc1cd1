"""A converting kind: the structs of its spec and status, and the annotation keys in which the Go operator keeps what one side can't say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from conversion.lens.protocol import Fields
from conversion.lens.struct import Struct

LEFT: Final = "v1alpha1"
RIGHT: Final = "v1beta1"
PREFIX: Final = "nvidia.com/"
Claims: TypeAlias = tuple[Struct, str, str]


class Legacy(NamedTuple):
    """Annotations of older operators: their keys, how they complete the remainder, and which ones an object that is converted gives.

    `read(annotations, rightward, spec, status)` gets the usable main remainders (None where there is none) and returns those to use;
    `write(source, rightward)` gets the object that is being read.
    """

    keys: tuple[str, ...]
    read: Callable[[Fields, bool, Fields | None, Fields | None], tuple[Fields | None, Fields | None]]
    write: Callable[[Fields, bool], dict[str, str]]


class Kind(NamedTuple):
    """One declaration. `short` names its annotations: `nvidia.com/<short>-spec` and `-status`."""

    name: str
    short: str
    spec: Struct
    status: Struct
    legacy: Legacy | None = None  # reads and writes the annotations of operators 1.0 and 1.1 (requests only)
    # says in the parts built what the object read means by leaving it out: complete(source, parts, rightward)
    complete: Callable[[Fields, Fields, bool], None] | None = None

    @property
    def spec_key(self) -> str:
        """The annotation that holds the remainder of the spec."""
        return f"{PREFIX}{self.short}-spec"

    @property
    def status_key(self) -> str:
        """The annotation that holds the remainder of the status."""
        return f"{PREFIX}{self.short}-status"
