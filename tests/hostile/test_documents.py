"""Documents of a cluster, and configuration files, in which each value in turn has another shape: read, or refused in one sentence.

A proxy, a foreign server or a careless hand may give any JSON. What is refused, the reader's own error says; anything else is a bug.
"""

import asyncio
import copy
import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.line import Line, of_definition
from dynamo_webhooks.api.operator.scope import ScopeSettings
from dynamo_webhooks.certs import names
from dynamo_webhooks.certs.report import read_conditions
from dynamo_webhooks.cli.commands.check import baseline
from dynamo_webhooks.cli.commands.facts import format_facts
from dynamo_webhooks.cli.console.exits import UsageError
from dynamo_webhooks.cli.facts.gather import gather_facts
from dynamo_webhooks.cli.facts.load import load_facts
from dynamo_webhooks.cli.installation.configuration import load_configuration
from dynamo_webhooks.cli.objects.apply import simulate_apply
from dynamo_webhooks.cli.project.discover import NAME, ProjectLocation
from dynamo_webhooks.cli.project.load import load
from dynamo_webhooks.cli.yaml.load import Source
from dynamo_webhooks.kube import answers, config, storage_versions
from dynamo_webhooks.kube.client import Client
from dynamo_webhooks.kube.errors import ApiError
from dynamo_webhooks.kube.protocol import Listing
from dynamo_webhooks.kube.resources import CONFIG_MAPS, DEPLOYMENTS, LEASES
from dynamo_webhooks.kube.scope import LEASE_NAME, Claims
from dynamo_webhooks.webhooks.cluster.observed_facts import read_domains
from tests.cli.facts.installed import GO, configuration
from tests.kube.memory import MemoryCluster

Node = dict[str, Any]
SECRET: Final = "hunter2"  # noqa: S105 - stands for one
SHAPES: Final[tuple[Any, ...]] = (None, 0, -1, 1.5, True, "x", "", [], {}, [{}], [None], [[]], [1], {"a": None}, {"": {}}, [{"name": []}])
REFUSALS: Final = (ApiError, UsageError, config.ConfigError)


def _places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, below in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from _places(below, (*path, key))


def _variants(document: Any) -> Iterator[Any]:
    """The document with another shape at each place in turn, and without it."""
    yield from copy.deepcopy(SHAPES)
    for *above, last in filter(None, _places(document)):
        for shape in (*SHAPES, ...):
            made = copy.deepcopy(document)
            holder = made
            for key in above:
                holder = holder[key]
            if shape is ...:
                del holder[last]
            else:
                holder[last] = copy.deepcopy(shape)
            yield made


class _Connection:
    """Gives one document for each path, as bytes of an API server are read."""

    def __init__(self, documents: dict[str, Any]) -> None:
        self._documents = documents

    async def ask(self, method: str, path: str, *_: object, **__: object) -> Node:
        return answers.decode_answer(json.dumps(self._documents[path]).encode(), f"{method} {path}")


class _Cluster(MemoryCluster):
    """Has one document of a kind, whatever it looks like, as far as `answers.read_items` lets it through."""

    def __init__(self, plural: str, document: Any) -> None:
        super().__init__()
        listed = {"kind": "List", "metadata": {}, "items": [document]}
        self._plural, self._items = plural, answers.read_items(json.loads(json.dumps(listed)), "list")

    async def list(self, resource: Any, *arguments: Any, **flags: Any) -> Listing:
        return Listing(self._items, "1") if resource.plural == self._plural else await super().list(resource, *arguments, **flags)

    async def get(self, resource: Any, *arguments: Any, **flags: Any) -> Node | None:
        return self._items[0] if resource.plural == self._plural else await super().get(resource, *arguments, **flags)


def _client(**documents: Any) -> Client:
    paths = {"api": "/api", "apis": "/apis", "resources": "/apis/a/v1", "list": LEASES.path("n")}
    connection: Any = _Connection({paths[name]: document for name, document in documents.items()})
    return Client(connection, "m")


CORE: Final = {"kind": "APIVersions", "versions": ["v1"]}
GROUPS: Final = {"kind": "APIGroupList", "groups": [{"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}]}]}
RESOURCES: Final = {"kind": "APIResourceList", "resources": [{"name": "pods", "kind": "Pod", "storageVersionHash": "x"}]}
LIST: Final = {"kind": "LeaseList", "metadata": {"resourceVersion": "1"}, "items": [{"metadata": {"name": "a"}, "spec": {}}]}
EVENT: Final = {"type": "ADDED", "object": {"metadata": {"name": "a"}}}
GONE: Final = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}
CAUSE: Final = {"field": "f", "reason": "r", "message": "m"}
STATUS: Final = {"kind": "Status", "metadata": {"continue": "c"}, "reason": "Invalid", "details": {"name": "a", "causes": [CAUSE]}}
SLICE: Final = {"ports": [{"name": "https", "port": 6443}], "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}]}
TOPOLOGY: Final = {"spec": {"levels": [{"domain": "rack"}]}}
LEASE: Final = {
    "metadata": {"name": LEASE_NAME, "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"leaseDurationSeconds": 30, "renewTime": "2026-01-01T00:00:00.0Z", "acquireTime": "2026-01-01T00:00:00Z"},
}
DEFINITION: Final = {
    **build("DynamoGraphDeploymentScalingAdapter", conversion={"strategy": "Webhook"}, line=Line.V1_2),
    "status": {"storedVersions": ["v1alpha1"]},
}
for _version in DEFINITION["spec"]["versions"]:
    _version["schema"] = {"openAPIV3Schema": {"properties": {"spec": {"properties": {"components": {"items": {"properties": {"a": {}}}}}}}}}
DEPLOYMENT: Final = {**GO, "metadata": {**GO["metadata"], "namespace": "dynamo-system"}}
CONFIG_MAP: Final = {"metadata": {"name": "c"}, "data": {"config.yaml": json.dumps(configuration())}}
CONDITION: Final = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
OBJECT: Final = {"apiVersion": "nvidia.com/v1alpha1", "metadata": {"name": "g"}, "spec": {"services": {"w": {"replicas": 1}}}}
MANAGED: Final = [
    {
        "manager": "k",
        "operation": "Apply",
        "apiVersion": "nvidia.com/v1alpha1",
        "fieldsV1": {"f:spec": {"f:services": {'k:{"name":"a"}': {}}}},
    }
]
FACTS: Final = {
    "operatorScope": "cluster",
    "operatorVersion": "1.2.0",
    "operatorPrincipal": "system:serviceaccount:a:b",
    "grove": True,
    "clusterTopologies": {"default": ["zone", "rack"]},
    "excludedNamespaces": ["a"],
    "switchedOff": ["grove"],
}
BASELINE: Final = {"version": 1, "findings": [{"rule": "a", "object": "b", "path": "c", "ordinal": 1, "fingerprint": "f", "file": "x"}]}
PROJECT: Final = {
    "line": "1.5",
    "facts": "facts.yaml",
    "rules": {"replicas-non-negative": "off"},
    "select": ["DYN1"],
    "outputs": {"github": "-"},
}
EXEC: Final = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": "/bin/false",
    "args": ["a"],
    "env": [{"name": "A", "value": "b"}],
}
KUBECONFIG: Final = {
    "current-context": "a",
    "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1", "tls-server-name": "x"}}],
    "users": [{"name": "u", "user": {"password": SECRET, "username": "u"}}],
}


def _gathered(plural: str, document: Any) -> str:
    return format_facts(asyncio.run(gather_facts(_Cluster(plural, document))))


def _managed(fields: Any) -> Node:
    held = {**OBJECT, "metadata": {"name": "g", "managedFields": fields}}
    return simulate_apply(OBJECT, copy.deepcopy(OBJECT), held, "DynamoGraphDeployment")


def _claimed(lease: Any) -> None:
    for item in answers.read_items({"kind": "List", "metadata": {}, "items": [lease]}, "list"):
        Claims(ScopeSettings("", 30, 10, 10, 60)).observe(item, 0.0, datetime.now(UTC))


async def _hashes(client: Any) -> storage_versions.StorageHashes:
    return await storage_versions.read_storage_hash(lambda _: nullcontext(client), "", "a", "v1")


CLUSTER: Final[dict[str, tuple[Any, Callable[[Any], Any]]]] = {
    "versions": (CORE, lambda made: asyncio.run(_client(api=made, apis=GROUPS).groups())),
    "groups": (GROUPS, lambda made: asyncio.run(_client(api=CORE, apis=made).groups())),
    "resources": (RESOURCES, lambda made: asyncio.run(_hashes(_client(resources=made)))),
    "list": (LIST, lambda made: asyncio.run(_client(list=made).list(LEASES, "n"))),
    "page": (LIST, lambda made: asyncio.run(_client(list=made).page(LEASES, "n"))),
    "event": (EVENT, lambda made: answers.decode_event(json.dumps(made).encode(), "watch")),
    "end of a watch": (GONE, lambda made: answers.decode_event(json.dumps(made).encode(), "watch")),
    "refusal": (STATUS, lambda made: answers.make_error(410, json.dumps(made).encode(), "get", secret=False)),
    "refusal of a Secret": (STATUS, lambda made: answers.make_error(422, json.dumps(made).encode(), "post", secret=True)),
    "API servers": (SLICE, lambda made: [*storage_versions._addresses(made)] if isinstance(made, dict) else None),
    "definition": (DEFINITION, lambda made: storage_versions.read_definition(made) if isinstance(made, dict) else None),
    "line of a definition": (DEFINITION, of_definition),
    "topology": (TOPOLOGY, lambda made: read_domains(made) if isinstance(made, dict) else None),
    "claim": (LEASE, _claimed),
    "operator": (DEPLOYMENT, lambda made: _gathered(DEPLOYMENTS.plural, made)),
    "its configuration": (CONFIG_MAP, lambda made: _gathered(CONFIG_MAPS.plural, made)),
    "conditions": (
        [CONDITION],
        lambda made: read_conditions({"metadata": {"annotations": {names.CONDITIONS: json.dumps(made)}}}),
    ),
    "managed fields": (MANAGED, _managed),
}


@pytest.mark.parametrize("name", CLUSTER)
def test_documents_of_a_cluster_may_have_any_shape(name: str) -> None:
    document, reading = CLUSTER[name]
    messages = []
    for made in (document, *_variants(document)):
        try:
            reading(made)
        except ApiError as error:
            messages.append(str(error))
    assert not [each for each in messages if "\n" in each]


def _configured(path: Path) -> None:
    load_configuration(Source("its file", path.read_text()), {})


FILES: Final[dict[str, tuple[Any, Callable[[Path], Any]]]] = {
    "facts": (FACTS, lambda path: load_facts(str(path), [])),
    "configuration": (configuration(), _configured),
    "baseline": (BASELINE, lambda path: baseline.load(str(path))),
    "project": (PROJECT, lambda path: load(ProjectLocation(str(path.parent), str(path.parent)))),
    "kubeconfig": (KUBECONFIG, lambda path: asyncio.run(config.load_config(str(path), environ={}))),
    "kubeconfig with a command": (
        {**KUBECONFIG, "users": [{"name": "u", "user": {"exec": EXEC, "password": SECRET}}]},
        lambda path: asyncio.run(config.load_config(str(path), environ={})),
    ),
    "kubeconfig with a provider": (
        {**KUBECONFIG, "users": [{"name": "u", "user": {"auth-provider": {"name": "oidc", "config": {"refresh-token": SECRET}}}}]},
        lambda path: asyncio.run(config.load_config(str(path), environ={})),
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_may_have_any_shape_and_no_error_quotes_a_credential(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    document, reading = FILES[name]
    path, messages = tmp_path / (NAME if name == "project" else "file.yaml"), []
    for made in (document, *_variants(document)):
        path.write_text(json.dumps(made))
        try:
            reading(path)
        except REFUSALS as error:
            messages.append(str(error))
    assert messages
    assert SECRET not in "".join([*messages, caplog.text])
    assert name == "configuration" or not [each for each in messages if "\n" in each], "a configuration has a line for each thing to change"
