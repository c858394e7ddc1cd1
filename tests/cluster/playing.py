"""Plays a part of the cluster that isn't there: looks at all objects of a collection again and again, in a thread."""

import contextlib
import http.client
import threading
from abc import ABC, abstractmethod
from typing import Any, Final, Self, TypeAlias

from tests.cluster.harness import ControlPlane

Node: TypeAlias = dict[str, Any]
MERGE: Final = "application/merge-patch+json"
PERIOD: Final = 0.2  # seconds between two looks; far less than a kubelet's, so that whatever is ready too early is found


class Player(ABC):
    """Sees to each object of a collection, from the beginning of a block to its end; what fails is tried again at the next look."""

    def __init__(self, plane: ControlPlane, path: str) -> None:
        self.plane = plane
        self._path, self._ended = path, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(PERIOD):
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                for obj in self.plane.request("GET", self._path).body.get("items", []):
                    self.see_to(obj)

    @abstractmethod
    def see_to(self, obj: Node) -> None:
        """Does what the missing part would do for an object."""
