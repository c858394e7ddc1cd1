"""GPUs are counted as reconciliation counts them."""

import pytest
import yaml

from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.policies.gpu import count_gpus, is_gpu
from dynamo_webhooks.policies.patterns import parse_whole_number

GPUS = ("nvidia.com/gpu", "NVIDIA.com/GPU", "gpu", "amd.com/gpu", "nvidia.com/mig-1g.5gb", "Nvidia.com/MIG-3g.20gb", "gpu.intel.com/xe")
OTHERS = ("", "cpu", "memory", "gpus", "nvidia.com/gpus", "mygpu", "mig-1g.5gb", "rdma/ib", "nvidia.com/gpu.shared")


def test_names_of_gpus_of_every_vendor_are_known_and_no_others() -> None:
    assert tuple(filter(is_gpu, (*GPUS, *OTHERS))) == GPUS


MAIN = "podTemplate.spec.containers[0].resources."
NOWHERE = "podTemplate.spec.containers[main].resources.limits[nvidia.com/gpu]"


def test_gpus_are_counted_where_reconciliation_finds_them(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str, int | None, str]] = [
        ("nothing", "null", 0, NOWHERE),
        ("requests", "{limits: null, requests: {nvidia.com/gpu: '2'}}", 2, "requests[nvidia.com/gpu]"),
        ("limits first", "{limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 2}}", 1, "limits[nvidia.com/gpu]"),
        ("zero hides requests", "{limits: {nvidia.com/gpu: '0'}, requests: {nvidia.com/gpu: '8'}}", 0, "limits[nvidia.com/gpu]"),
        ("another limit", "{limits: {cpu: '4'}, requests: {nvidia.com/gpu: '8'}}", 8, "requests[nvidia.com/gpu]"),
        ("whole quantity", "{limits: {nvidia.com/gpu: 1000m}}", 1, "limits[nvidia.com/gpu]"),
        ("suffix", "{limits: {nvidia.com/gpu: 1k}}", 1000, "limits[nvidia.com/gpu]"),
        ("fraction", "{limits: {nvidia.com/gpu: 500m}}", None, "limits[nvidia.com/gpu]"),
        ("no quantity", "{limits: {nvidia.com/gpu: two}}", None, "limits[nvidia.com/gpu]"),
        ("negative", "{limits: {nvidia.com/gpu: '-1'}}", -1, "limits[nvidia.com/gpu]"),
        ("other vendor", "{limits: {gpu.intel.com/xe: 1}}", 1, "limits[gpu.intel.com/xe]"),
        ("resource that is no GPU", "{limits: {example.com/tpu: 1}}", 0, NOWHERE),
        ("slice", "{limits: {nvidia.com/mig-1g.5gb: 3, rdma/ib: 9}}", 3, "limits[nvidia.com/mig-1g.5gb]"),
        ("alphabetically first", "{limits: {nvidia.com/mig-1g.5gb: 3, amd.com/gpu: 2}}", 2, "limits[amd.com/gpu]"),
        ("null entry", "{limits: {nvidia.com/gpu: 1, amd.com/gpu: null}}", 1, "limits[nvidia.com/gpu]"),
    ]
    for what, resources, number, path in rows:
        with subtests.test(what):
            containers = [{"name": "main", "resources": yaml.safe_load(resources)}] if path != NOWHERE else [{"name": "side"}, None]
            gpus = count_gpus({"podTemplate": {"spec": {"containers": containers}}})
            assert (gpus.number, format_path(gpus.path)) == (number, path if path == NOWHERE else MAIN + path)


def test_plain_digits_of_any_length_are_read_as_the_go_operator_does() -> None:
    rows: list[tuple[str, int | None]] = [
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
    ]
    assert [(text[:20], parsed) for text, number in rows if (parsed := parse_whole_number(text)) != number] == []
