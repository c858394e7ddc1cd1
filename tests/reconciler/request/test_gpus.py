"""Looking for GPUs: outside of passes, once for all who ask, within bounds."""

import asyncio
from typing import Any

import pytest

from dynamo_webhooks.kube.resources import NODES, PODS
from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.request import shared
from dynamo_webhooks.reconciler.request.hardware import (
    GpuInventory,
    Machine,
    fill_hardware,
    find_sku,
    list_unknown_products,
    merge_nodes,
    parse_exporter_metrics,
    read_node_labels,
)
from dynamo_webhooks.reconciler.request.shared import MAX_CONCURRENT_SCRAPES, GpuDiscovery
from tests.kube.memory import MemoryCluster
from tests.reconciler.request.test_request import NODE
from tests.reconciler.site import settings
from tests.rows import run_each

A, B = (Key("DynamoGraphDeploymentRequest", "demo", name) for name in "ab")


class Exporters(shared.Scraper):
    """Exporters of which some never answer."""

    def __init__(self, silent: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.silent, self.now, self.most = silent, 0, 0
        self.asked: list[str] = []

    async def read(self, url: str) -> str:
        """The metrics."""
        self.asked.append(url)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(60 if any(host in url for host in self.silent) else 0)
        finally:
            self.now -= 1
        return METRICS

    async def close(self) -> None:
        """Nothing is open."""


async def _exporter(cluster: MemoryCluster, name: str, address: str, phase: str = "Running", namespace: str = "gpu-operator") -> None:
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "nvidia-dcgm-exporter"}},
        "spec": {},
    }
    await cluster.create(PODS, pod, namespace)
    status = {"phase": phase, "podIP": address}
    await cluster.merge_patch(PODS, name, {"status": status}, namespace, subresource="status")


class Looking:
    """A finder at work."""

    def __init__(self, cluster: MemoryCluster, exporters: Exporters, more: str = "") -> None:
        self.time = 0.0
        self.told: list[Key] = []
        self.all_told = asyncio.Event()
        self.finder = GpuDiscovery(cluster, settings(more), exporters, self._tell, lambda: self.time)
        self.task = asyncio.ensure_future(self.finder.run())

    def _tell(self, key: Key) -> None:
        self.told.append(key)
        asyncio.get_running_loop().call_soon(self.all_told.set)  # after the others of this look

    async def found(self, *keys: Key) -> Any:
        """What those who ask are told in the end."""
        before = [self.finder.known(key) for key in keys]
        async with asyncio.timeout(20):
            await self.all_told.wait()
        assert before == [None] * len(keys)
        return self.finder.known(keys[0])

    async def stop(self) -> None:
        """Ends it."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def test_all_who_ask_are_told_by_one_look_that_counts_for_a_minute() -> None:
    cluster, exporters = MemoryCluster(), Exporters()
    await cluster.create(NODES, NODE)
    looking = Looking(cluster, exporters)
    inventory = await looking.found(A, B)
    assert [(machine.product, machine.gpus) for machine in inventory.machines] == [("NVIDIA-H200", 8)]
    assert sorted(looking.told) == [A, B]
    looking.time = 59
    assert looking.finder.known(A) == inventory
    looking.time = 61
    assert looking.finder.known(A) is None
    await looking.stop()


async def test_exporters_are_asked_a_few_at_a_time_and_the_silent_ones_hold_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "SCRAPES_TIMEOUT_SECONDS", 0.3)
    cluster, exporters = MemoryCluster(), Exporters(silent=("10.0.0.3:", "10.0.0.4:"))
    for number in range(40):
        await _exporter(cluster, f"p{number}", f"10.0.0.{number}")
    await _exporter(cluster, "v6", "fd00::1")
    await _exporter(cluster, "pending", "10.0.1.1", "Pending")
    await _exporter(cluster, "local", "127.0.0.1")
    await _exporter(cluster, "metadata", "169.254.169.254")
    looking = Looking(cluster, exporters)
    inventory = await looking.found(A)
    assert len(inventory.machines) == 39
    assert exporters.most <= MAX_CONCURRENT_SCRAPES
    assert len(exporters.asked) == 41
    assert "http://[fd00::1]:9400/metrics" in exporters.asked
    await looking.stop()
    assert exporters.now == 0


async def test_a_right_that_is_missing_is_said_and_discovery_can_be_off() -> None:
    cluster, exporters = MemoryCluster(), Exporters()
    await cluster.create(NODES, NODE)
    cluster.denied.add(("list", "nodes"))
    looking = Looking(cluster, exporters)
    inventory = await looking.found(A)
    assert "nodes can't be read" in inventory.why
    await looking.stop()
    cluster.denied.clear()
    looking = Looking(cluster, exporters, "gpu: {discoveryEnabled: false}\n")
    assert (await looking.found(A)).machines == ()
    await looking.stop()


@run_each(
    ("product", "sku"),
    [
        ("NVIDIA-H100-80GB-HBM3", "h100_sxm"),
        ("NVIDIA H100 80GB HBM3", "h100_sxm"),
        ("NVIDIA-H100-PCIe", "h100_pcie"),
        ("NVIDIA-H100-NVL", "h100_pcie"),
        ("NVIDIA-A100-SXM4-80GB", "a100_sxm"),
        ("NVIDIA-A100-PCIE-40GB", "a100_pcie"),
        ("NVIDIA-A100-80GB-PCIe", "a100_pcie"),
        ("Tesla-V100-SXM2-16GB", "v100_sxm"),
        ("Tesla-T4-SHARED", "t4"),
        ("NVIDIA-L40S", "l40s"),
        ("NVIDIA-GB200", "gb200_sxm"),
        ("AMD-MI300X", "mi300"),
        ("NVIDIA-GH200-480GB", ""),
        ("NVIDIA-L400X", ""),
        ("NVIDIA-H20", ""),
        ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", ""),
        ("", ""),
        ("x" * 100_000, ""),
    ],
)
def test_a_product_is_the_schemas_word_or_none(product: str, sku: str) -> None:
    assert find_sku(product) == sku


def _node(product: str, count: str, memory: str = "81559", **more: str) -> dict[str, object]:
    labels = {"nvidia.com/gpu.product": product, "nvidia.com/gpu.count": count, "nvidia.com/gpu.memory": memory, **more}
    return {"metadata": {"name": "n", "labels": labels}}


def test_the_nodes_with_most_gpus_count_and_all_of_their_sort_are_summed() -> None:
    nodes = [_node("NVIDIA-A100-SXM4-80GB", "4"), _node("NVIDIA-H200", "8"), _node("NVIDIA-H200", "4"), _node("NVIDIA-H200", "x")]
    hardware = fill_hardware({}, GpuInventory(read_node_labels(nodes)))
    assert hardware == {"gpuSku": "h200_sxm", "vramMb": 81559, "totalGpus": 12, "numGpusPerNode": 8, "rdma": False}


def test_what_a_request_says_is_kept_and_chooses_the_nodes() -> None:
    nodes = [_node("NVIDIA-A100-SXM4-80GB", "4", **{"nvidia.com/rdma.present": "true"}), _node("NVIDIA-H200", "8")]
    hardware = fill_hardware({"gpuSku": "a100_sxm", "totalGpus": 2, "interconnect": None}, GpuInventory(read_node_labels(nodes)))
    assert hardware == {"gpuSku": "a100_sxm", "vramMb": 81559, "totalGpus": 2, "numGpusPerNode": 4, "rdma": True}
    assert fill_hardware({"gpuSku": "l4"}, GpuInventory(read_node_labels(nodes))) == {"gpuSku": "l4"}


def test_a_request_gets_at_most_32_gpus_unasked() -> None:
    assert fill_hardware({}, GpuInventory(tuple(Machine("NVIDIA-H200", 8, 1) for _ in range(9))))["totalGpus"] == 32


def test_products_without_a_word_are_named_when_there_is_nothing_else() -> None:
    odd = Machine("NVIDIA-B300", 8, 1)
    assert list_unknown_products({}, GpuInventory((odd, odd))) == ["NVIDIA-B300"]
    assert list_unknown_products({}, GpuInventory((odd, Machine("NVIDIA-H200", 8, 1)))) == []
    assert list_unknown_products({"gpuSku": "h200_sxm"}, GpuInventory((odd,))) == []


METRICS = """\
# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature
DCGM_FI_DEV_GPU_TEMP{gpu="0",modelName="NVIDIA H100 80GB HBM3"} 40
DCGM_FI_DEV_GPU_TEMP{gpu="1",modelName="NVIDIA H100 80GB HBM3"} 41
DCGM_FI_DEV_FB_FREE{gpu="0"} 80000
DCGM_FI_DEV_FB_USED{gpu="0"} 1000
DCGM_FI_DEV_FB_RESERVED{gpu="0"} 559
DCGM_FI_DEV_FB_FREE{gpu="1"} NaN
DCGM_FI_DEV_NVLINK_LINK_COUNT{gpu="0"} 18
"""


def test_an_exporter_tells_count_product_memory_and_links() -> None:
    assert parse_exporter_metrics(METRICS) == Machine("NVIDIA H100 80GB HBM3", 2, 81559, interconnect="nvlink")


@run_each("text", ["", "x", "DCGM_FI_DEV_GPU_TEMP{gpu=", "DCGM_FI_DEV_GPU_TEMP{" * 1000, 'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 1e999'])
def test_other_text_tells_nothing(text: str) -> None:
    assert parse_exporter_metrics(text) is None


def test_labels_count_before_exporters_which_add_the_links() -> None:
    exported = (Machine("NVIDIA-H200", 1, 1, interconnect="nvlink"),)
    assert merge_nodes((Machine("NVIDIA-H200", 8, 2),), exported) == (Machine("NVIDIA-H200", 8, 2, interconnect="nvlink"),)
    assert merge_nodes((), exported) == exported
