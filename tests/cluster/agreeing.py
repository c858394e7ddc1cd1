"""A plane on which every kind is served in every version, converted and judged by our server, registered as our manifests do it; and what
it answers to dry-run writes. What `check` says of the same objects, and the comparison, are a test's work."""

import base64
import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import yaml

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.kinds import BY_NAME, KINDS
from dynamo_webhooks.api.models.type_constraints import ALL
from dynamo_webhooks.cli.validation.levels import CEL, CONVERSION, DECODE, POLICIES, SCHEMA
from tests.cluster.admission import Admission, wait_until_all_are_asked
from tests.cluster.conversion import KINDS as CONVERTED
from tests.cluster.conversion import Converter
from tests.cluster.harness import ADMIN, ControlPlane, Reply, control_plane

Node: TypeAlias = dict[str, Any]
MANIFESTS: Final = Path(__file__).parents[2] / "manifests" / "base"
CONNECTIONS: Final = 4
LABEL: Final = "dynamo-webhooks.test/judged-by"
_RULES: Final = tuple(constraint.message for constraint in ALL)
_WEBHOOK: Final = re.compile(r'admission webhook "[^"]*" denied the request: ')


class Write(NamedTuple):
    """One dry-run write: an update where there is a stored object of that name."""

    name: str  # of the case, for people
    object: Node
    old: Node | None = None
    user: str = "jane"
    version: str = ""  # of the stored object, as an update has to name it

    @property
    def body(self) -> Node:
        """What is sent."""
        version = {"resourceVersion": self.version} if self.version else {}
        return {**self.object, "metadata": {**self.object["metadata"], **version}}

    @property
    def path(self) -> str:
        """Where it is posted or put."""
        metadata, kind = self.object["metadata"], BY_NAME[self.object["kind"]]
        collection = f"/apis/{self.object['apiVersion']}/namespaces/{metadata['namespace']}/{kind.plural}"
        return collection if self.old is None else f"{collection}/{metadata['name']}"


class Said(NamedTuple):
    """What the server answers to a write; `stage` is the first that refuses, empty where none does, and named as `check` names it."""

    status: int
    stage: str
    reason: str
    message: str
    causes: tuple[tuple[str, str], ...]  # (field, message)
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judges:
    """The plane, and the servers that judge namespaces, by the value of the label that chooses them."""

    plane: ControlPlane
    servers: dict[str, Admission]

    def register(self, name: str, server: Admission) -> None:
        """Has namespaces with the label of that name judged by a server."""
        self.servers[name] = server
        selector = {"namespaceSelector": {"matchLabels": {LABEL: name}}}
        for file in ("validating", "mutating"):
            configuration = yaml.safe_load((MANIFESTS / f"{file}.yaml").read_text())
            configuration["metadata"] = {"name": f"{name}-{file}"}
            configuration["webhooks"] = [
                {**entry, **selector, "clientConfig": _client(entry, server)} for entry in configuration["webhooks"]
            ]
            self.plane.apply(configuration)
        wait_until_all_are_asked(self.plane, server, self.plane.namespace({LABEL: name}))

    def namespace(self, name: str) -> str:
        """A new namespace that the server of that name judges."""
        return self.plane.namespace({LABEL: name})

    def judge(self, namespace: str, name: str) -> None:
        """Has a namespace, whose objects nobody judged so far, judged from now on."""
        labels = {"metadata": {"labels": {LABEL: name}}}
        reply = self.plane.request("PATCH", f"/api/v1/namespaces/{namespace}", labels, kind="application/merge-patch+json")
        assert reply.status == 200, reply.body
        wait_until_all_are_asked(self.plane, self.servers[name], namespace)

    def stored(self, writes: Sequence[Write]) -> list[Write]:
        """Creates the old objects, and keeps the writes whose old object a server can hold, with its version in them."""
        return [write._replace(version=found) for write, found in zip(writes, _shared(writes, self._store), strict=True) if found]

    def answers(self, writes: Sequence[Write], *, strict: bool) -> list[Said]:
        """Asks for each write as a dry run, a few at once."""
        query = f"?dryRun=All&fieldValidation={'Strict' if strict else 'Warn'}"
        return _shared(writes, lambda write: _said(self._sent("POST" if write.old is None else "PUT", write.path + query, write)))

    def _store(self, write: Write) -> str:
        """The version of the old object once it is stored with its status; empty where no server takes it."""
        assert write.old is not None
        old = Write("", write.old, user=ADMIN)
        reply = self._sent("POST", f"{old.path}?fieldValidation=Ignore", old)
        if reply.status == 201 and write.old.get("status"):
            path = f"{old.path}/{reply.body['metadata']['name']}/status?fieldValidation=Ignore"
            reply = self._sent("PUT", path, old._replace(object={**reply.body, "status": write.old["status"]}))
        return reply.body["metadata"]["resourceVersion"] if reply.status < 400 else ""

    def _sent(self, method: str, path: str, write: Write) -> Reply:
        """Sends as a user who may do everything."""
        return self.plane.request(method, path, write.body, acting=write.user)


def _shared(writes: Sequence[Write], ask: Callable[[Write], Any]) -> list[Any]:
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        return list(threads.map(ask, writes))


@contextlib.contextmanager
def judging_plane(assets: Path, home: Path) -> Iterator[Judges]:
    """Runs the plane and the server that converts for it; nothing is registered for admission yet."""
    converter = Converter(home / "serve")
    try:
        with control_plane(assets, home / "plane") as plane:
            plane.install(*(crd(kind.name, conversion=converter.stanza() if kind.name in CONVERTED else None) for kind in KINDS))
            yield Judges(plane, {})
    finally:
        converter.process.stop()


def _client(entry: Node, server: Admission) -> Node:
    return {"url": server.url + entry["clientConfig"]["service"]["path"], "caBundle": base64.b64encode(server.ca).decode()}


def _said(reply: Reply) -> Said:
    if reply.status < 400:
        return Said(reply.status, "", "", "", (), reply.warnings)
    message, details = reply.body["message"], reply.body.get("details") or {}
    causes = tuple((cause.get("field", ""), cause.get("message", "")) for cause in details.get("causes", []))
    return Said(reply.status, _stage(reply.status, message, causes), reply.body.get("reason", ""), message, causes, reply.warnings)


def _stage(status: int, message: str, causes: tuple[tuple[str, str], ...]) -> str:
    """Which stage of a server refuses: webhooks name themselves, and rules of a schema speak in sentences that we know."""
    if _WEBHOOK.match(message):
        return DECODE if status == 400 else POLICIES
    if "conversion webhook for" in message:
        return CONVERSION
    if status == 400:
        return DECODE
    ruled = causes and all(any(rule in said for rule in _RULES) for _, said in causes)
    return CEL if ruled else SCHEMA


def dotted(field: str) -> str:
    """A field with dots for brackets, and none at its beginning: an API server has three spellings of a path, `check` has one."""
    return re.sub(r"\[([^]]*)\]", r".\1", field).removeprefix(".")
