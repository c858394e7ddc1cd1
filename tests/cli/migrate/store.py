"""An API server in memory that stores each object in a version, as its definition says at the moment of a write."""

import contextlib
from collections.abc import AsyncIterator, Callable
from functools import cache
from typing import Any, TypeAlias

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME, KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.migrate.context import MigrationContext
from dynamo_webhooks.cli.commands.migrate.options import Options
from dynamo_webhooks.cli.commands.migrate.progress import Progress
from dynamo_webhooks.cli.commands.migrate.report import MigrationReport
from dynamo_webhooks.cli.commands.migrate.run import MigrationRun
from dynamo_webhooks.kube.errors import ApiError, GoneError, NotFoundError
from dynamo_webhooks.kube.protocol import Cluster, Node, Page
from dynamo_webhooks.kube.resources import CRDS, Resource, resource_of_kind
from dynamo_webhooks.kube.storage_versions import compute_storage_hash
from tests.kube.copies import copy_json
from tests.kube.memory import MemoryCluster
from tests.kube.storage import key_of

Key: TypeAlias = tuple[str, str, str]
CONVERTED = tuple(kind.name for kind in KINDS if len(kind.versions) > 1)
DGD = "DynamoGraphDeployment"
SOME = (DGD, "DynamoGraphDeploymentScalingAdapter")  # of the converted ones the largest and the smallest
IMAGE: Node = {"extraPodSpec": {"mainContainer": {"image": "x/vllm:1.5.0"}}}
SPEC: Node = {"services": {"w": {"componentType": "worker", **IMAGE}}}
REFUSAL = "conversion webhook for nvidia.com/v1alpha1, Kind=DynamoGraphDeployment failed: spec: must be an object"


class Store(MemoryCluster):
    """Writes in `forms` in which version each object is stored."""

    def __init__(self, storage: str = ALPHA, stored: tuple[str, ...] = (ALPHA,), line: Line = Line.V1_5) -> None:
        super().__init__("tests")
        self.forms: dict[Key, str] = {}
        self.touched: list[str] = []
        self.broken: Callable[[str], ApiError | None] = lambda name: None  # what a write to an object of a name meets
        self.unserved: set[str] = set()
        self.asked_in = ""  # the version of the last write
        self.expire_at = -1  # the page that is too old
        self.page_limit = 0
        for name in CONVERTED:
            crd = copy_json(_built(name, line))
            for version in crd["spec"]["versions"]:
                version["storage"] = version["name"] == storage
            crd["status"] = {"storedVersions": [*stored]}
            self._made(crd)

    def _made(self, crd: Node) -> None:
        record = self.storage.born(CRDS, crd)
        self.storage.version += 1
        record.obj |= {"status": crd["status"]}
        record.obj["metadata"]["resourceVersion"] = str(self.storage.version)
        self.storage.records[key_of(CRDS, "", crd["metadata"]["name"])] = record

    def crd(self, kind: str = DGD) -> Node:
        return self.storage.records[key_of(CRDS, "", BY_NAME[kind].crd_name)].obj

    def storage_of(self, kind: str) -> str:
        return next(str(each["name"]) for each in self.crd(kind)["spec"]["versions"] if each["storage"])

    async def put(self, kind: str, name: str, spec: Node, version: str = ALPHA, **metadata: Any) -> None:
        resource = resource_of_kind(kind, version)
        obj = {"apiVersion": resource.api_version, "kind": kind, "metadata": {"name": name, "namespace": "n", **metadata}, "spec": spec}
        await self.create(resource, obj)
        self.forms[resource.plural, "n", name] = self.storage_of(kind)

    async def get(self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Node | None:
        obj = await super().get(resource, name, namespace, subresource=subresource)
        return None if resource.version in self.unserved else obj

    async def resources(self, group: str, version: str) -> list[Node]:  # noqa: ARG002 - hashes are the same in all versions
        await self._ask("resources", None, "", "")
        return [
            {"name": BY_NAME[kind].plural, "storageVersionHash": compute_storage_hash(group, self.storage_of(kind), kind)}
            for kind in CONVERTED
        ]

    async def page(self, resource: Resource, namespace: str = "", *, token: str = "", limit: int = 500, brief: bool = False) -> Page:
        begin = int(token or 0)
        if self.expire_at == begin:
            self.expire_at = -1
            error = GoneError(410, "Expired", "too old")
            error.resume = token
            raise error
        items = (await self.list(resource, namespace)).items
        end = begin + (self.page_limit or limit)
        objects = [{key: value for key, value in item.items() if not brief or key == "metadata"} for item in items[begin:end]]
        return Page(objects, str(end) if end < len(items) else "")

    async def touch(self, resource: Resource, name: str, namespace: str, *, manager: str, dry_run: bool = False) -> Node:  # noqa: ARG002 - one manager
        await self._ask("touch", resource, namespace, name)
        record = self.storage.records.get(key_of(resource, namespace, name))
        if record is None:
            raise NotFoundError(404, "NotFound", f"{resource.plural} {name!r} not found")
        self.asked_in = resource.version
        if error := self.broken(name):
            raise error
        form = self.storage_of(resource.kind)
        if not dry_run:
            self.touched.append(name)
            if self.forms[resource.plural, namespace, name] != form:
                self.forms[resource.plural, namespace, name] = form
                self.storage.version += 1
                record.obj["metadata"]["resourceVersion"] = str(self.storage.version)
        return {"metadata": copy_json(record.obj["metadata"])}


async def filled(many: int = 5, store: Store | None = None) -> Store:
    """Puts graphs into a store; without one into a new one."""
    made = store or Store()
    for index in range(many):
        await made.put(DGD, f"g-{index:02}", SPEC)
    return made


@cache
def _built(kind: str, line: Line) -> Node:
    return build(kind, conversion={"strategy": "Webhook"}, line=line)


def context(store: Store, messages: list[str] | None = None, **options: Any) -> MigrationContext:
    """The context of a run that waits for nothing it needn't, and moves two kinds if it isn't told others."""

    @contextlib.asynccontextmanager
    async def opener(_: str) -> AsyncIterator[Cluster]:
        yield store

    given: dict[str, Any] = {"to": BETA, "kinds": SOME, "settle": 0.0, **options}
    return MigrationContext(store, opener, Options(**given), (messages if messages is not None else []).append)


async def ran(store: Store, messages: list[str] | None = None, retire: str | None = None, **options: Any) -> MigrationReport:
    """A whole run."""
    return await MigrationRun(context(store, messages, **options), Progress(lambda _: None)).run(retire)
