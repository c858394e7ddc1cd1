"""Installs CustomResourceDefinitions. An API server judges each schema once in a process, which costs it seconds.

Afterwards a new definition is written into etcd as it was stored then, and the API server finds it there as after a restart.
"""

import hashlib
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias
from uuid import uuid4

from dynamo_webhooks.cli.yaml.load import load_documents
from tests.cluster import etcd
from tests.cluster.harness import ControlPlane
from tests.cluster.processes import wait_until

Node: TypeAlias = dict[str, Any]
_KEY: Final = "/registry/apiextensions.k8s.io/customresourcedefinitions/{}"
_PLACES: Final = ("url", "caBundle")  # of a conversion: in these alone two servers of ours differ
_STORED: Final[dict[str, Node]] = {}  # digest of a definition -> the same as it was stored


def install(plane: ControlPlane, *crds: Node) -> None:
    """Installs definitions and waits until each is served in every version, and discovery says so."""
    there = dict(etcd.contents(plane, _KEY.format("")))
    new = [crd for crd in crds if _key(crd) not in there]
    etcd.write(plane, {_key(crd): _placed(_STORED[digest], crd) for crd in new if (digest := _digest(crd)) in _STORED})
    plane.apply(*(crd for crd in crds if crd not in new or _digest(crd) not in _STORED))
    wanted = {(crd["spec"]["names"]["kind"], f"{crd['spec']['group']}/{each['name']}") for crd in crds for each in crd["spec"]["versions"]}
    wait_until(lambda: wanted <= plane.versions(), "the kinds being discoverable", plane.server)
    for crd in crds:
        for each in crd["spec"]["versions"]:
            path = f"/apis/{crd['spec']['group']}/{each['name']}/{crd['spec']['names']['plural']}?limit=1"
            wait_until(partial(plane.serves, path), f"{path} being served", plane.server)
    stored = dict(etcd.contents(plane, _KEY.format("")))
    _STORED.update({_digest(crd): json.loads(stored[_key(crd)]) for crd in new})


def _key(crd: Node) -> str:
    return _KEY.format(crd["metadata"]["name"])


def read_files(folder: Path) -> Iterator[Node]:
    """The definitions of a folder of manifests."""
    for file in sorted(folder.glob("*.yaml")):
        yield from (document.data for document in load_documents(file.read_text()))


def _digest(crd: Node) -> str:
    """What two definitions share that differ in the place of our server alone."""
    same = json.loads(json.dumps(crd))
    client = _client(same)
    client |= {name: "" for name in _PLACES if name in client}
    return hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()


def _placed(stored: Node, crd: Node) -> bytes:
    """A definition as it is stored, new, and with the place of a server."""
    made: Node = json.loads(json.dumps(stored))
    made["metadata"]["uid"] = str(uuid4())
    if client := _client(crd):
        # API servers store definitions in the form of v1beta1
        made["spec"]["conversion"]["webhookClientConfig"] |= {name: client[name] for name in _PLACES if name in client}
    return json.dumps(made).encode()


def _client(crd: Node) -> Node:
    client: Node = (crd["spec"].get("conversion", {}).get("webhook") or {}).get("clientConfig", {})
    return client
