"""GPUs are counted as reconciliation counts them, and under profile 1.2 as the Go operator's admission does."""

from __future__ import annotations

import pytest
import yaml

from dynamo_webhooks.api.paths import render
from dynamo_webhooks.policies.gpu import gpu_count, gpu_count_1_2, is_gpu


@pytest.mark.parametrize(
    "name",
    ["nvidia.com/gpu", "NVIDIA.com/GPU", "gpu", "amd.com/gpu", "nvidia.com/mig-1g.5gb", "Nvidia.com/MIG-3g.20gb", "gpu.intel.com/xe"],
)
def test_names_of_gpus_of_every_vendor_are_known(name: str) -> None:
    assert is_gpu(name)


@pytest.mark.parametrize(
    "name", ["", "cpu", "memory", "gpus", "nvidia.com/gpus", "mygpu", "mig-1g.5gb", "rdma/ib", "nvidia.com/gpu.shared"]
)
def test_other_resources_are_no_gpus(name: str) -> None:
    assert not is_gpu(name)


@pytest.mark.parametrize(
    ("component", "number", "path"),
    [
        pytest.param("{}", 0, "resources.limits.gpu", id="nothing"),
        pytest.param("{resources: null}", 0, "resources.limits.gpu", id="null"),
        pytest.param("{resources: {limits: null, requests: {gpu: '2'}}}", 2, "resources.requests.gpu", id="requests"),
        pytest.param("{resources: {limits: {gpu: '1'}, requests: {gpu: '2'}}}", 1, "resources.limits.gpu", id="limits first"),
        pytest.param("{resources: {limits: {gpu: '0'}, requests: {gpu: '8'}}}", 0, "resources.limits.gpu", id="a zero hides requests"),
        pytest.param("{resources: {limits: {gpu: '', cpu: '4'}, requests: {gpu: '8'}}}", 8, "resources.requests.gpu", id="empty is absent"),
        pytest.param("{resources: {limits: {gpu: 1000m}}}", 1, "resources.limits.gpu", id="whole quantity"),
        pytest.param("{resources: {limits: {gpu: 1k}}}", 1000, "resources.limits.gpu", id="suffix"),
        pytest.param("{resources: {limits: {gpu: '1.0'}}}", 1, "resources.limits.gpu", id="whole decimal"),
        pytest.param("{resources: {limits: {gpu: 500m}}}", None, "resources.limits.gpu", id="fraction"),
        pytest.param("{resources: {limits: {gpu: two}}}", None, "resources.limits.gpu", id="no quantity"),
        pytest.param("{resources: {limits: {gpu: ' 1'}}}", None, "resources.limits.gpu", id="blank"),
        pytest.param("{resources: {limits: {gpu: '-1'}}}", -1, "resources.limits.gpu", id="negative"),
        pytest.param("{resources: {limits: {gpu: '1', gpuType: gpu.intel.com/xe}}}", 1, "resources.limits.gpu", id="other vendor"),
        pytest.param("{resources: {limits: {gpu: '1', gpuType: example.com/tpu}}}", 0, "resources.limits.gpu", id="type that is no GPU"),
        pytest.param("{resources: {limits: {gpuType: amd.com/gpu}}}", 0, "resources.limits.gpu", id="type alone"),
        pytest.param(
            "{resources: {limits: {custom: {nvidia.com/mig-1g.5gb: '3', rdma/ib: '9'}}}}",
            3,
            "resources.limits.custom[nvidia.com/mig-1g.5gb]",
            id="custom",
        ),
        pytest.param(
            "{resources: {limits: {custom: {nvidia.com/mig-1g.5gb: '3', amd.com/gpu: '2'}}}}",
            2,
            "resources.limits.custom[amd.com/gpu]",
            id="alphabetically first",
        ),
        pytest.param(
            "{resources: {limits: {gpu: '1', custom: {nvidia.com/gpu: '4'}}}}",
            4,
            "resources.limits.custom[nvidia.com/gpu]",
            id="custom replaces gpu",
        ),
        pytest.param("{resources: {limits: {gpu: '1', custom: {amd.com/gpu: null}}}}", 1, "resources.limits.gpu", id="null entry"),
        pytest.param(
            "{resources: {limits: {gpu: '1'}}, extraPodSpec: {mainContainer: {resources: {limits: {nvidia.com/gpu: 8}}}}}",
            8,
            "extraPodSpec.mainContainer.resources.limits[nvidia.com/gpu]",
            id="main container replaces",
        ),
        pytest.param(
            "{resources: {requests: {gpu: '1'}}, extraPodSpec: {mainContainer: {resources: {limits: {nvidia.com/gpu: '2'}}}}}",
            2,
            "extraPodSpec.mainContainer.resources.limits[nvidia.com/gpu]",
            id="limits of the main container before requests",
        ),
        pytest.param(
            "{extraPodSpec: {mainContainer: {resources: {limits: {nvidia.com/gpu: ' 2 '}}}}}",
            2,
            "extraPodSpec.mainContainer.resources.limits[nvidia.com/gpu]",
            id="blanks around a container's quantity",
        ),
        pytest.param("{extraPodSpec: {mainContainer: null}}", 0, "resources.limits.gpu", id="null main container"),
    ],
)
def test_gpus_are_counted_where_reconciliation_finds_them(component: str, number: int | None, path: str) -> None:
    found = gpu_count(yaml.safe_load(component))
    assert (found.number, render(found.path)) == (number, path)


@pytest.mark.parametrize(
    ("component", "number"),
    [
        pytest.param("{}", 0, id="nothing"),
        pytest.param("{resources: {limits: {gpu: '+01'}}}", 1, id="sign and zeros"),
        pytest.param("{resources: {limits: {gpu: '1.0'}}}", None, id="decimal"),
        pytest.param("{resources: {limits: {gpu: 1k}}}", None, id="suffix"),
        pytest.param("{resources: {limits: {gpu: '٣'}}}", None, id="digits of another script"),
        pytest.param("{resources: {limits: {gpu: '9223372036854775808'}}}", None, id="beyond 64 bits"),
        pytest.param("{resources: {limits: {gpu: '0'}, requests: {gpu: '8'}}}", 0, id="a zero hides requests"),
        pytest.param("{resources: {limits: {gpu: ''}, requests: {gpu: '8'}}}", 8, id="empty is absent"),
        pytest.param("{resources: {limits: {gpu: '1', gpuType: example.com/tpu}}}", 1, id="type is not looked at"),
        pytest.param("{resources: {limits: {custom: {nvidia.com/gpu: '4'}}}}", 0, id="custom is not looked at"),
        pytest.param("{extraPodSpec: {mainContainer: {resources: {limits: {nvidia.com/gpu: 8}}}}}", 0, id="nor is the main container"),
    ],
)
def test_profile_1_2_counts_plain_digits_in_two_places(component: str, number: int | None) -> None:
    assert gpu_count_1_2(yaml.safe_load(component)).number == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0" * 5_000 + "8", 8),
        ("+" + "0" * 5_000, 0),
        ("-" + "0" * 30 + "1", -1),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("-9223372036854775808", -(2**63)),
        ("9" * 1_000_000, None),
    ],
    ids=["zeros", "signed zero", "minus one", "largest", "too large", "smallest", "absurd"],
)
def test_plain_digits_of_any_length_are_read_as_the_go_operator_does(text: str, number: int | None) -> None:
    assert gpu_count_1_2({"resources": {"limits": {"gpu": text}}}).number == number
