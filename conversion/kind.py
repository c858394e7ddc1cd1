"""A converting kind: the structs of its spec and status, and the annotation keys in which the Go operator keeps what one side can't say."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from conversion.lens.struct import Struct

LEFT: Final = "v1alpha1"
RIGHT: Final = "v1beta1"
PREFIX: Final = "nvidia.com/"
Claims: TypeAlias = tuple[Struct, str, str]


class Kind(NamedTuple):
    """One declaration. `short` names its annotations: `nvidia.com/<short>-spec` and `-status`."""

    name: str
    short: str
    spec: Struct
    status: Struct
    legacy: bool = False  # reads and writes the annotations of operators 1.0 and 1.1 (requests only)

    @property
    def spec_key(self) -> str:
        """The annotation that holds the remainder of the spec."""
        return f"{PREFIX}{self.short}-spec"

    @property
    def status_key(self) -> str:
        """The annotation that holds the remainder of the status."""
        return f"{PREFIX}{self.short}-status"
