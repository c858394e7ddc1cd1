"""A control plane of line 1.5 whose objects are stored in v1alpha1, objects of four kinds, writers, and `migrate` as a process."""

from __future__ import annotations

import contextlib
import io
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any, Final, TypeAlias

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.kube.storage_versions import compute_storage_hash
from tests.cli.migrate.test_offline import SHADOWS
from tests.cluster.admission import COMMAND, FACTS, serving
from tests.cluster.conversion import KINDS
from tests.cluster.definitions import install
from tests.cluster.harness import ControlPlane
from tests.cluster.objects import graph, make, path_of, request
from tests.cluster.planes import Planes
from tests.cluster.processes import Process, wait_until
from tests.cluster.provisioning import JSON_PATCH, MERGE_PATCH

Node: TypeAlias = dict[str, Any]
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLURALS: Final = tuple(BY_NAME[kind].plural for kind in KINDS)


class Site:
    """A plane, and `migrate` that runs against it."""

    def __init__(self, plane: ControlPlane, home: Path) -> None:
        self.plane, self._home = plane, home
        self._runs = count()

    def start(self, *words: str) -> Process:
        """Starts `migrate`; both streams go to its log, and its report to the log's end."""
        return Process("migrate", [str(COMMAND), "migrate", *self._flags, *words], self._home / f"migrate-{next(self._runs)}.log")

    def run(self, *words: str) -> Node:
        """Runs it to its end in this process and gives the report."""
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = main(["migrate", *self._flags, *words])
        assert code == 0, out.getvalue() + errors.getvalue()
        report: Node = json.loads(out.getvalue())
        return report

    @property
    def _flags(self) -> list[str]:
        return ["--kubeconfig", str(self.plane.kubeconfig), "--settle", "0", "-o", "json"]

    def definition(self, plural: str) -> Node:
        """A CustomResourceDefinition as it is now."""
        return self.plane.request("GET", f"{CRDS}/{plural}.nvidia.com").body

    def stored_versions(self) -> dict[str, list[str]]:
        """By plural, what the definitions' status says."""
        return {plural: self.definition(plural)["status"]["storedVersions"] for plural in PLURALS}

    def store_in(self, version: str, *, say: Sequence[str] = ()) -> None:
        """Flips all definitions as somebody else would, has their status `say` something, and waits until the API server does so."""
        for plural in PLURALS:
            self._patch(f"{CRDS}/{plural}.nvidia.com", _flip(version))
            if say:
                self._patch(f"{CRDS}/{plural}.nvidia.com/status", [{"op": "add", "path": "/status/storedVersions", "value": [*say]}])
        wait_until(lambda: self._stores(version), f"{version} being stored", self.plane.server)

    def may_store(self, version: str) -> bool:
        """Whether the API server would let an ordinary patch move the storage of the first kind; asked as a dry run."""
        return self.plane.request("PATCH", f"{CRDS}/{PLURALS[0]}.nvidia.com?dryRun=All", _flip(version), kind=JSON_PATCH).status == 200

    def empty(self) -> None:
        """Deletes all objects, and stores in v1alpha1 alone again."""
        for plural in PLURALS:
            items = self.plane.request("GET", f"/apis/nvidia.com/{BETA}/{plural}").body["items"]
            for namespace in {item["metadata"]["namespace"] for item in items}:
                self.plane.request("DELETE", f"/apis/nvidia.com/{BETA}/namespaces/{namespace}/{plural}")
        self.store_in(ALPHA, say=[ALPHA])

    def _patch(self, path: str, patch: list[Node]) -> None:
        self.plane.request("PATCH", path, patch, kind=JSON_PATCH).done()

    def _stores(self, version: str) -> bool:
        """Whether a new object of each kind is stored so: asks discovery, as nothing else tells."""
        listed = {each["name"]: each for each in self.plane.request("GET", f"/apis/nvidia.com/{version}").body["resources"]}
        return all(
            listed[BY_NAME[kind].plural]["storageVersionHash"] == compute_storage_hash("nvidia.com", version, kind) for kind in KINDS
        )


def _flip(version: str) -> list[Node]:
    """A JSON patch of a definition, by which new writes are stored in a version."""
    return [{"op": "add", "path": f"/spec/versions/{index}/storage", "value": name == version} for index, name in enumerate((ALPHA, BETA))]


def report_of(process: Process) -> Node:
    """The report at the end of a log."""
    text = process.text()
    report: Node = json.loads(text[text.index("\n{\n") if "\n{\n" in text else text.index("{\n") :])
    return report


@contextlib.contextmanager
def site(planes: Planes, home: Path) -> Iterator[Site]:
    """Runs all of it."""
    facts = {**FACTS, "operatorVersion": "1.5.0", "checkpoint": True}
    with serving(home / "serve", facts) as server, planes.lend() as plane:
        crds = [build(kind, conversion=server.stanza(), line=Line.V1_5) for kind in KINDS]
        for crd in crds:
            for version in crd["spec"]["versions"]:
                version["storage"] = version["name"] == ALPHA
        install(plane, *crds)
        yield Site(plane, home)


def objects(namespace: str, many: int) -> Iterator[Node]:
    """Objects of the four kinds in turn, in both versions, some with what only one version can say."""
    image = {"extraPodSpec": {"mainContainer": {"image": "x/vllm:1.5.0"}}}
    adapter = {"replicas": 1, "dgdRef": {"name": "g", "serviceName": "w"}}
    component = {"type": "worker", "podTemplate": {"spec": {"containers": [{"name": "main", "image": "x/vllm:1.5.0"}]}}}
    makers: list[Callable[[str], Node]] = [
        lambda name: graph(namespace, {"w": {"replicas": 2, "dynamoNamespace": "d", **image}}, name=name),
        lambda name: make("DCD", ALPHA, namespace, {"serviceName": "s", "dynamoNamespace": "d", "replicas": 1, **image}, name=name),
        lambda name: {**request(namespace), "metadata": {"name": name, "namespace": namespace}},
        lambda name: make("DGDSA", ALPHA, namespace, adapter, name=name),
        lambda name: make("DGD", BETA, namespace, {"components": [{"name": "w", "minAvailable": 1, **component}]}, name=name),
        lambda name: graph(namespace, {"w": {"replicas": 1, **SHADOWS, **image}}, name=name),
    ]
    yield from (maker(f"o-{index}") for index, maker in enumerate(islice(cycle(makers), many)))


def create(plane: ControlPlane, made: Sequence[Node]) -> list[Node]:
    """Creates objects and gives them as they are stored."""
    stored = []
    for obj in made:
        reply = plane.request("POST", path_of(obj), obj).done()
        stored.append(reply)
    return stored


def unread(obj: Node) -> Node:
    """An object without its resourceVersion, which each write moves."""
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}}


def everything(plane: ControlPlane, version: str) -> dict[str, Node]:
    """All objects of the four kinds in a version, by kind and name."""
    return {
        f"{plural} {item['metadata']['namespace']}/{item['metadata']['name']}": item
        for plural in PLURALS
        for item in plane.request("GET", f"/apis/nvidia.com/{version}/{plural}").body["items"]
    }


class Writers:
    """Two clients that write at full speed, one in each version; one of them makes and deletes objects, too."""

    def __init__(self, plane: ControlPlane, targets: Sequence[Node], namespace: str) -> None:
        self._plane, self._targets, self._namespace = plane, targets, namespace
        self._stop = threading.Event()
        self.acknowledged: dict[tuple[str, str], str] = {}  # (path, annotation) -> the last value that was accepted
        self.refused: list[str] = []
        self.done = 0
        self._threads = [threading.Thread(target=self._write, args=(version,), daemon=True) for version in (ALPHA, BETA)]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(120)
            assert not thread.is_alive()

    def _write(self, version: str) -> None:
        note = f"test/{version}"
        for number, target in enumerate(cycle(self._targets)):
            if self._stop.is_set():
                return
            path = path_of({**target, "apiVersion": f"nvidia.com/{version}"}, named=True)
            value = str(number)
            if self._sent("PATCH", path, {"metadata": {"annotations": {note: value}}}):
                self.acknowledged[path_of({**target, "apiVersion": f"nvidia.com/{ALPHA}"}, named=True), note] = value
            if number % 5 == 0:
                self._come_and_go(version, f"{version}-{number}")

    def _come_and_go(self, version: str, name: str) -> None:
        spec = {"replicas": 1, "dgdRef": {"name": "g", "serviceName" if version == ALPHA else "componentName": "w"}}
        obj = make("DGDSA", version, self._namespace, spec, name=name)
        if self._sent("POST", path_of(obj), obj) and int(name.rpartition("-")[2]) % 10:
            self._sent("DELETE", path_of(obj, named=True))

    def _sent(self, method: str, path: str, body: Node | None = None) -> bool:
        reply = self._plane.request(method, path, body, kind=MERGE_PATCH if method == "PATCH" else "application/json")
        self.done += 1
        if reply.status >= 300:
            self.refused.append(f"{method} {path}: {reply.status} {reply.body.get('message')}")
        return reply.status < 300
