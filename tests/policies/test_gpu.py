"""GPUs are counted as reconciliation counts them."""

import pytest
import yaml

from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.policies.domain import whole_number
from dynamo_webhooks.policies.gpu import gpu_count, is_gpu

GPUS = ("nvidia.com/gpu", "NVIDIA.com/GPU", "gpu", "amd.com/gpu", "nvidia.com/mig-1g.5gb", "Nvidia.com/MIG-3g.20gb", "gpu.intel.com/xe")
OTHERS = ("", "cpu", "memory", "gpus", "nvidia.com/gpus", "mygpu", "mig-1g.5gb", "rdma/ib", "nvidia.com/gpu.shared")


def test_names_of_gpus_of_every_vendor_are_known_and_no_others() -> None:
    assert tuple(filter(is_gpu, (*GPUS, *OTHERS))) == GPUS


MAIN = "podTemplate.spec.containers[0].resources."
NOWHERE = "podTemplate.spec.containers[main].resources.limits[nvidia.com/gpu]"


@pytest.mark.parametrize(
    ("resources", "number", "path"),
    [
        pytest.param("null", 0, NOWHERE, id="nothing"),
        pytest.param("{limits: null, requests: {nvidia.com/gpu: '2'}}", 2, "requests[nvidia.com/gpu]", id="requests"),
        pytest.param("{limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 2}}", 1, "limits[nvidia.com/gpu]", id="limits first"),
        pytest.param(
            "{limits: {nvidia.com/gpu: '0'}, requests: {nvidia.com/gpu: '8'}}", 0, "limits[nvidia.com/gpu]", id="zero hides requests"
        ),
        pytest.param("{limits: {cpu: '4'}, requests: {nvidia.com/gpu: '8'}}", 8, "requests[nvidia.com/gpu]", id="another limit"),
        pytest.param("{limits: {nvidia.com/gpu: 1000m}}", 1, "limits[nvidia.com/gpu]", id="whole quantity"),
        pytest.param("{limits: {nvidia.com/gpu: 1k}}", 1000, "limits[nvidia.com/gpu]", id="suffix"),
        pytest.param("{limits: {nvidia.com/gpu: 500m}}", None, "limits[nvidia.com/gpu]", id="fraction"),
        pytest.param("{limits: {nvidia.com/gpu: two}}", None, "limits[nvidia.com/gpu]", id="no quantity"),
        pytest.param("{limits: {nvidia.com/gpu: '-1'}}", -1, "limits[nvidia.com/gpu]", id="negative"),
        pytest.param("{limits: {gpu.intel.com/xe: 1}}", 1, "limits[gpu.intel.com/xe]", id="other vendor"),
        pytest.param("{limits: {example.com/tpu: 1}}", 0, NOWHERE, id="resource that is no GPU"),
        pytest.param("{limits: {nvidia.com/mig-1g.5gb: 3, rdma/ib: 9}}", 3, "limits[nvidia.com/mig-1g.5gb]", id="slice"),
        pytest.param("{limits: {nvidia.com/mig-1g.5gb: 3, amd.com/gpu: 2}}", 2, "limits[amd.com/gpu]", id="alphabetically first"),
        pytest.param("{limits: {nvidia.com/gpu: 1, amd.com/gpu: null}}", 1, "limits[nvidia.com/gpu]", id="null entry"),
    ],
)
def test_gpus_are_counted_where_reconciliation_finds_them(resources: str, number: int | None, path: str) -> None:
    containers = [{"name": "main", "resources": yaml.safe_load(resources)}] if path != NOWHERE else [{"name": "side"}, None]
    found = gpu_count({"podTemplate": {"spec": {"containers": containers}}})
    assert (found.number, format_path(found.path)) == (number, path if path == NOWHERE else MAIN + path)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("+01", 1),
        ("1.0", None),
        ("1k", None),
        ("٣", None),
        ("0" * 5_000 + "8", 8),
        ("+" + "0" * 5_000, 0),
        ("-" + "0" * 30 + "1", -1),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("-9223372036854775808", -(2**63)),
        ("9" * 1_000_000, None),
    ],
    ids=lambda each: str(each)[:20],
)
def test_plain_digits_of_any_length_are_read_as_the_go_operator_does(text: str, number: int | None) -> None:
    assert whole_number(text) == number
