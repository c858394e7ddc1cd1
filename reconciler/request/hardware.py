"""Which GPUs a cluster has, as labels of its nodes and DCGM exporters say. Pure: reading them is elsewhere."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from ...conversion.lens.protocol import Fields

PRODUCT: Final = "nvidia.com/gpu.product"
COUNT: Final = "nvidia.com/gpu.count"
MEMORY: Final = "nvidia.com/gpu.memory"
RDMA: Final = ("nvidia.com/rdma.present", "feature.node.kubernetes.io/rdma.available", "feature.node.kubernetes.io/network-sriov.capable")
NEEDED: Final = ("gpuSku", "vramMb", "numGpusPerNode")  # without which nothing can be profiled
KINDS: Final = (*NEEDED, "totalGpus", "interconnect", "rdma")  # the fields that are looked up
DEFAULT_GPUS: Final = 32  # that a request gets when it doesn't say how many
# family -> (SKU on a board of its own, SKU in a slot); the same where only one form is made
_FAMILIES: Final = {
    **{name: (f"{name.lower()}_sxm", f"{name.lower()}_pcie") for name in ("H100", "A100", "V100")},
    **{name: (f"{name.lower()}_sxm",) * 2 for name in ("GB200", "B200", "H200")},
    **{name: (name.lower(),) * 2 for name in ("GB10", "A30", "L40S", "L40", "L4", "T4")},
    **dict.fromkeys(("MI300", "MI300X", "MI300A"), ("mi300", "mi300")),
    **dict.fromkeys(("MI200", "MI250", "MI250X"), ("mi200", "mi200")),
}
_BOARD: Final = ("SXM", "HGX", "DGX", "HBM3")  # how words of a product on a board of its own begin
_SLOT: Final = ("PCIE", "NVL")
_SAMPLE: Final = re.compile(r"^(DCGM_FI_DEV_[A-Z_]+)\{([^{}]{0,2000})\}\s+(\S{1,40})")
_LABEL: Final = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="([^"\\]{0,300})"')
_FRAME: Final = ("DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_RESERVED")


class Machine(NamedTuple):
    """The GPUs of one node, all alike."""

    product: str
    gpus: int
    memory: int  # MiB of one of them
    rdma: bool = False
    interconnect: str = ""

    @property
    def sku(self) -> str:
        """Empty for a product that the schema has no word for."""
        return find_sku(self.product)


class GpuInventory(NamedTuple):
    """The known GPUs of a cluster."""

    machines: tuple[Machine, ...] = ()
    why: str = ""  # why nothing, or not everything, could be read


def find_sku(product: str) -> str:
    """The word of the schema for a product as drivers name it; empty where there is none, as for a slice of a GPU."""
    words = re.split(r"[^A-Z0-9.]+", product[:200].upper())
    family = next((_FAMILIES[word] for word in words if word in _FAMILIES), None)
    if family is None or "MIG" in words:
        return ""
    board, slot = family
    in_slot = any(word.startswith(_SLOT) for word in words)
    large = board == "a100_sxm" and any(word.startswith("HBM2E") for word in words)
    on_board = any(word.startswith(_BOARD) for word in words) or large
    return board if on_board and not in_slot else slot


def read_node_labels(nodes: Iterable[Fields]) -> tuple[Machine, ...]:
    """Reads machines from labels of GPU Feature Discovery; nodes without all three of them are passed over."""
    return tuple(machine for node in nodes if (machine := _machine(node)) is not None)


def _machine(node: Fields) -> Machine | None:
    labels = node["metadata"].get("labels") or {}
    product, count, memory = str(labels.get(PRODUCT) or ""), _whole(labels.get(COUNT)), _whole(labels.get(MEMORY))
    if not product or not count or not memory:
        return None
    return Machine(product, count, memory, any(labels.get(name) == "true" for name in RDMA))


def _whole(text: Any) -> int:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 10 else 0


def parse_exporter_metrics(text: str) -> Machine | None:
    """Parses the metrics of one DCGM exporter; None without a GPU. Linear in the text, whose size the caller bounds."""
    gpus: set[str] = set()
    memory: dict[str, float] = {}
    product, links = "", False
    for line in text.splitlines():
        sample = _SAMPLE.match(line)
        if sample is None:
            continue
        name, labels = sample[1], dict(_LABEL.findall(sample[2]))
        value, gpu = _number(sample[3]), labels.get("gpu", "")
        if name == "DCGM_FI_DEV_GPU_TEMP" and gpu:
            gpus.add(gpu)
            product = product or labels.get("modelName", "")
        elif name in _FRAME:
            memory[gpu] = memory.get(gpu, 0.0) + value
        elif name == "DCGM_FI_DEV_NVLINK_LINK_COUNT":
            links = links or value > 0
    if not gpus or not product or not memory:
        return None
    return Machine(product, len(gpus), int(max(memory.values())), interconnect="nvlink" if links else "pcie")


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return number if 0 <= number < 1e9 else 0.0


def merge_nodes(labelled: Sequence[Machine], exported: Sequence[Machine]) -> tuple[Machine, ...]:
    """Nodes as their labels say, with the links that exporters measured; what exporters say where no node has labels."""
    links = {machine.product: machine.interconnect for machine in exported}
    return tuple(machine._replace(interconnect=links.get(machine.product, "")) for machine in labelled) or tuple(exported)


def fill_hardware(requested: Fields, cluster: GpuInventory) -> Fields:
    """Returns the hardware of a request; fields that it leaves out are taken from the cluster, as far as it has them."""
    alike = [machine for machine in cluster.machines if machine.sku and machine.sku == (requested.get("gpuSku") or machine.sku)]
    if not alike:
        return dict(requested)
    best = max(alike, key=lambda machine: (machine.gpus, machine.memory))
    same = [machine for machine in alike if machine.sku == best.sku]
    discovered: Fields = {
        "gpuSku": best.sku,
        "vramMb": best.memory,
        "totalGpus": min(sum(machine.gpus for machine in same), DEFAULT_GPUS),
        "numGpusPerNode": best.gpus,
        "interconnect": best.interconnect,
        "rdma": any(machine.rdma for machine in same),
    }
    given = {name: value for name, value in requested.items() if value not in (None, "", 0)}
    return {name: value for name, value in {**discovered, **given}.items() if value != ""}


def list_unknown_products(requested: Fields, cluster: GpuInventory) -> list[str]:
    """Products that nothing can be profiled on, because the schema has no word for them; empty where others are there."""
    if requested.get("gpuSku") or any(machine.sku for machine in cluster.machines):
        return []
    return sorted({machine.product[:100] for machine in cluster.machines})[:5]
