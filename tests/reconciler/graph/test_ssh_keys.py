"""SSH keys of MPI's processes: one pair for each graph, and pairs that don't fit."""

import base64
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import SECRETS
from dynamo_webhooks.reconciler.common.resources import LEADER_WORKER_SETS
from tests.reconciler.rendering import component, graph
from tests.reconciler.site import LWS_API, NAMESPACE, Site, settings
from tests.rows import run_each

MAIN = {"image": "img:1", "command": ["python3", "-m", "dynamo.trtllm"], "resources": {"limits": {"nvidia.com/gpu": "1"}}}
PER_GRAPH = "secrets: {mpiKeys: perGraph}\n"


def wide(name: str) -> Node:
    return graph(component("decode", "decode", MAIN, replicas=1, multinode={"nodeCount": 2}), name=name)


@contextlib.asynccontextmanager
async def scene(*names: str, more: str = PER_GRAPH, denied: tuple[tuple[str, str], ...] = (), **there: Node) -> AsyncIterator[Site]:
    """Graphs of several nodes beside Secrets that are there before."""
    site = Site(settings(more))
    site.serve(LWS_API)
    site.cluster.denied |= {*denied}
    for name, data in there.items():
        made = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name.replace("_", "-")}, "data": data}
        await site.user.create(SECRETS, made, NAMESPACE)
    async with site.running(*map(wide, names)):
        yield site


async def test_each_graph_has_a_pair_of_its_own_that_goes_with_it() -> None:
    names = [f"g{number}" for number in range(10)]
    async with scene(*names) as site:
        made = [await site.get(SECRETS, f"{name}-mpi-ssh") for name in names]
        assert len({obj["data"]["private.key"] for obj in made}) == 10
        assert [obj["metadata"]["ownerReferences"][0]["name"] for obj in made] == names
        key = load_ssh_private_key(base64.b64decode(made[0]["data"]["private.key"]), None)
        assert "ed25519" in type(key).__module__
        assert await site.user.get(SECRETS, "ssh", NAMESPACE) is None
        assert await site.user.get(SECRETS, "ssh", "dynamo-system") is None
        [workers] = [obj for obj in (await site.user.list(LEADER_WORKER_SETS, NAMESPACE)).items if "g0-" in obj["metadata"]["name"]]
        template = workers["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
        [volume] = [volume for volume in template["volumes"] if "secret" in volume]
        assert (volume["name"], volume["secret"]["secretName"]) == ("ssh", "g0-mpi-ssh")
        assert [verb for verb, plural, _ in site.cluster.writes if plural == "secrets"] == ["create"] * 10


async def test_all_graphs_share_one_pair_of_keys_which_is_never_changed() -> None:
    async with scene("g", "h", more="") as site:
        home, copy = [await site.get(SECRETS, "ssh", namespace) for namespace in ("dynamo-system", NAMESPACE)]
        assert home["data"] == copy["data"]
        assert set(home["data"]) == {"private.key", "private.key.pub"}
        assert base64.b64decode(home["data"]["private.key"]).startswith(b"-----BEGIN RSA PRIVATE KEY-----")
        assert {verb for verb, plural, _ in site.cluster.writes if plural == "secrets"} == {"create"}  # of two at once one comes too late


async def test_without_a_right_to_read_the_pair_is_made_once() -> None:
    async with scene("g", denied=(("get", "secrets"),)) as site:
        data = (await site.get(SECRETS, "g-mpi-ssh"))["data"]
        await site.edit("g", 0, replicas=2, seconds=120)
        assert [name for _, plural, name in site.cluster.writes if plural == "secrets"] == ["g-mpi-ssh"]
        assert "Secret" not in (await site.condition())["message"]
        await site.stop()
        site.start()
        await site.rest()
        assert (await site.get(SECRETS, "g-mpi-ssh"))["data"] == data
        assert "Secret" not in (await site.condition())["message"]


@run_each(("more", "name", "where"), [(PER_GRAPH, "g-mpi-ssh", NAMESPACE), ("", "ssh", "dynamo-system")])
async def test_without_a_right_to_make_it_the_graph_says_what_grants_it(more: str, name: str, where: str) -> None:
    async with scene("g", more=more, denied=(("get", "secrets"), ("create", "secrets"))) as site:
        text = (await site.condition())["message"]
        assert f"Secret {name} in {where}: the reconciler lacks a permission" in text
        assert text.endswith("add manifests/components/mpi-keys, or set reconciler.mpiKeys=true of the chart")
        site.cluster.denied.clear()
        await site.later(70)
        assert await site.get(SECRETS, name, where)


async def test_a_secret_of_somebody_else_is_left_alone_and_named() -> None:
    async with scene("g", g_mpi_ssh={"x": "eQ=="}) as site:
        assert (await site.get(SECRETS, "g-mpi-ssh"))["data"] == {"x": "eQ=="}
        assert "Secret g-mpi-ssh was created by another client" in (await site.condition())["message"]


@run_each(
    ("data", "problem"),
    [
        ({}, "private.key.pub must be the public key of private.key"),
        ({"private.key": "eA==", "private.key.pub": "eA=="}, "private.key.pub must be the public key of private.key"),
        ({"private.key": "%%%", "private.key.pub": 5}, "private.key.pub must be the public key of private.key"),
        ({"private.key": base64.b64encode(b"x" * 30_000).decode()}, "private.key.pub must be the public key of private.key"),
    ],
)
async def test_a_copy_that_is_no_pair_is_told(data: Any, problem: str) -> None:
    async with scene("g", more="", ssh=data) as site:
        assert (await site.get(SECRETS, "ssh"))["data"] == data
        text = (await site.condition())["message"]
        assert f"Secret ssh in demo: {problem}" in text


async def test_a_copy_with_other_keys_than_its_source_is_told_and_no_value_of_it() -> None:
    async with scene("g", more=PER_GRAPH) as site:
        other = (await site.get(SECRETS, "g-mpi-ssh"))["data"]
    async with scene("g", more="", ssh=other) as site:
        assert (await site.get(SECRETS, "ssh"))["data"] == other
        text = (await site.condition())["message"]
        assert "Secret ssh in demo: must hold the keys of the one in dynamo-system; delete it" in text
        assert other["private.key"][:40] not in str([record.obj for key, record in site.storage.records.items() if key[1] != "secrets"])
        await site.delete(SECRETS, "ssh", 70)
        assert (await site.get(SECRETS, "ssh"))["data"] == (await site.get(SECRETS, "ssh", "dynamo-system"))["data"]
        assert "Secret" not in (await site.condition())["message"]
