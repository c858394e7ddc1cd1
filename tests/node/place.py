"""The names and addresses of a node."""

from dataclasses import dataclass
from typing import Final

SERVICES: Final = "10.79.0.0/24"
PODS: Final = "10.78.0.0/16"  # of all nodes


@dataclass(frozen=True)
class Place:
    """Those of the node with a number; that of number 0 is the machine itself, others are beside it."""

    number: int

    @property
    def name(self) -> str:
        return f"node{self.number}"

    @property
    def address(self) -> str:
        return f"10.77.0.{self.number + 1}"

    @property
    def pods(self) -> str:
        """The addresses of its pods."""
        return f"10.78.{self.number}.0/24"

    @property
    def socket(self) -> str:
        """Where its containerd listens."""
        return f"/run/{self.name}.sock"

    @property
    def link(self) -> str:
        """The interface of the machine that leads to it."""
        return f"to-{self.name}"


FIRST: Final = Place(0)
SECOND: Final = Place(1)
