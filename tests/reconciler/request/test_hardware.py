"""GPUs as labels of nodes and exporters name them."""

import pytest

from dynamo_webhooks.reconciler.request.hardware import (
    Cluster,
    Machine,
    fill_hardware,
    merge_nodes,
    parse_exporter_metrics,
    read_node_labels,
    sku_of,
    unknown_products,
)


@pytest.mark.parametrize(
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
    assert sku_of(product) == sku


def _node(product: str, count: str, memory: str = "81559", **more: str) -> dict[str, object]:
    labels = {"nvidia.com/gpu.product": product, "nvidia.com/gpu.count": count, "nvidia.com/gpu.memory": memory, **more}
    return {"metadata": {"name": "n", "labels": labels}}


def test_the_nodes_with_most_gpus_count_and_all_of_their_sort_are_summed() -> None:
    nodes = [_node("NVIDIA-A100-SXM4-80GB", "4"), _node("NVIDIA-H200", "8"), _node("NVIDIA-H200", "4"), _node("NVIDIA-H200", "x")]
    found = fill_hardware({}, Cluster(read_node_labels(nodes)))
    assert found == {"gpuSku": "h200_sxm", "vramMb": 81559, "totalGpus": 12, "numGpusPerNode": 8, "rdma": False}


def test_what_a_request_says_is_kept_and_chooses_the_nodes() -> None:
    nodes = [_node("NVIDIA-A100-SXM4-80GB", "4", **{"nvidia.com/rdma.present": "true"}), _node("NVIDIA-H200", "8")]
    found = fill_hardware({"gpuSku": "a100_sxm", "totalGpus": 2, "interconnect": None}, Cluster(read_node_labels(nodes)))
    assert found == {"gpuSku": "a100_sxm", "vramMb": 81559, "totalGpus": 2, "numGpusPerNode": 4, "rdma": True}
    assert fill_hardware({"gpuSku": "l4"}, Cluster(read_node_labels(nodes))) == {"gpuSku": "l4"}


def test_a_request_gets_at_most_32_gpus_unasked() -> None:
    assert fill_hardware({}, Cluster(tuple(Machine("NVIDIA-H200", 8, 1) for _ in range(9))))["totalGpus"] == 32


def test_products_without_a_word_are_named_when_there_is_nothing_else() -> None:
    odd = Machine("NVIDIA-B300", 8, 1)
    assert unknown_products({}, Cluster((odd, odd))) == ["NVIDIA-B300"]
    assert unknown_products({}, Cluster((odd, Machine("NVIDIA-H200", 8, 1)))) == []
    assert unknown_products({"gpuSku": "h200_sxm"}, Cluster((odd,))) == []


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


@pytest.mark.parametrize(
    "text", ["", "x", "DCGM_FI_DEV_GPU_TEMP{gpu=", "DCGM_FI_DEV_GPU_TEMP{" * 1000, 'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 1e999']
)
def test_other_text_tells_nothing(text: str) -> None:
    assert parse_exporter_metrics(text) is None


def test_labels_count_before_exporters_which_add_the_links() -> None:
    exported = (Machine("NVIDIA-H200", 1, 1, interconnect="nvlink"),)
    assert merge_nodes((Machine("NVIDIA-H200", 8, 2),), exported) == (Machine("NVIDIA-H200", 8, 2, interconnect="nvlink"),)
    assert merge_nodes((), exported) == exported
