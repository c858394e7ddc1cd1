"""One object on a real API server, asked as the model in tests/laws/managers is: read, apply and patch in both versions."""

from typing import Any, Final, TypeAlias

from dynamo_webhooks.api.line import INSTALLED
from tests.cluster.harness import ControlPlane, Reply
from tests.cluster.objects import path_of
from tests.laws.managers.apply import ConflictError, Managers, Owned, Who
from tests.laws.managers.fields import read
from tests.laws.managers.server import Written
from tests.laws.managers.typed import InvalidError

Node: TypeAlias = dict[str, Any]
APPLY: Final = "application/apply-patch+yaml"
MERGE: Final = "application/merge-patch+json"


class Held:
    """The object `t` of a kind in a namespace of its own."""

    def __init__(self, plane: ControlPlane, kind: str) -> None:
        """Creates the namespace; the object is created by its first apply."""
        self.kind, self.line = kind, INSTALLED
        self._plane = plane
        self._namespace = plane.namespace()
        self._last: Node = {}
        self._content: Node = {}

    @property
    def managers(self) -> Managers:
        """Who owns what, as the object says it."""
        return {
            Who(
                entry["manager"],
                entry["operation"] == "Apply",
                "" if entry["operation"] == "Apply" else _version(entry["apiVersion"]),
                entry.get("subresource", ""),
            ): Owned(_version(entry["apiVersion"]), read(entry["fieldsV1"]))
            for entry in self._get("v1beta1")["metadata"].get("managedFields", [])
        }

    def read(self, version: str) -> Node:
        """The object in a version, as if in the namespace `default`; who owns what says `managers`."""
        found = self._get(version)
        metadata = {name: value for name, value in found["metadata"].items() if name != "managedFields"}
        return {**found, "metadata": {**metadata, "namespace": "default"}}

    def _get(self, version: str) -> Node:
        reply = self._plane.request("GET", self._path(version))
        assert reply.status == 200, reply.body
        return reply.body

    def send(self, version: str, body: Node, query: str, *, kind: str, status: bool = False) -> Reply:
        """A PATCH of the object or its status."""
        return self._plane.request("PATCH", self._path(version) + ("/status" if status else "") + query, body, kind=kind)

    def apply(self, applied: Node, manager: str, *, force: bool = False) -> Written:
        """A server-side apply."""
        body = {**applied, "metadata": {**applied["metadata"], "namespace": self._namespace}}
        query = f"?fieldManager={manager}" + ("&force=true" if force else "")
        return self._written(self.send(_version(applied["apiVersion"]), body, query, kind=APPLY))

    def patch(self, version: str, patch: Node, manager: str, *, status: bool = False) -> Written:
        """A JSON merge patch."""
        return self._written(self.send(version, patch, f"?fieldManager={manager}", kind=MERGE, status=status))

    def _path(self, version: str) -> str:
        metadata = {"namespace": self._namespace, "name": "t"}
        return path_of({"apiVersion": f"nvidia.com/{version}", "kind": self.kind, "metadata": metadata}, named=True)

    def _written(self, reply: Reply) -> Written:
        if reply.status == 409:
            raise ConflictError({}, reply.body["message"])
        if reply.status not in (200, 201):
            raise InvalidError(str(reply.body))
        before, now = self._last or {"resourceVersion": "", "generation": 1}, reply.body["metadata"]
        self._last = now
        changed = now["resourceVersion"] != before["resourceVersion"]
        if changed:
            content, self._content = self._content, self._whole()
            changed = content != self._content
        return Written(reply.body, changed, now["generation"] != before["generation"])

    def _whole(self) -> Node:
        """All that the object says, but for times: an apply that changes nothing renews its manager's, and with it the managers' order."""
        found = self._get("v1beta1")
        entries = [{**entry, "time": ""} for entry in found["metadata"].pop("managedFields", [])]
        del found["metadata"]["resourceVersion"]
        return {**found, "managers": sorted(entries, key=str)}


def _version(api_version: str) -> str:
    return api_version.rpartition("/")[2]
