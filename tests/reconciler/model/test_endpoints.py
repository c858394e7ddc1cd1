"""What is read of slices and models: pods, names of adapters in URLs and in the annotation, and whose an adapter is."""

from typing import Any

import pytest

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.model.endpoints import MANAGED_BY, Endpoint, ModelEndpoints, list_endpoints, trim_slice
from dynamo_webhooks.reconciler.model.lora import (
    LOADED,
    InvalidNameError,
    encode_names,
    escape_name,
    is_lora,
    lora_of,
    owner_of,
    read_names,
)
from tests.reconciler.model.workers import model, pod, slice_of
from tests.rows import run_each


def found(*slices: Node) -> ModelEndpoints:
    """The endpoints of slices as the cache holds them."""
    for sliced in slices:
        trim_slice(sliced)
    return list_endpoints(slices)


def test_a_ready_pod_is_an_endpoint_at_the_port_of_its_slice() -> None:
    seen = found(slice_of(pod("10.0.0.1", name="a", uid="u"), ports=[{"name": "http", "port": 80}, {"name": "system", "port": 9191}]))
    assert seen.endpoints == (Endpoint("u", "a", "10.0.0.1", 9191, callable=True),)
    assert seen.endpoints[0].urls == ["http://10.0.0.1:9191"]
    assert seen.services == ("dynamo-model-fb68f5a6",)


def test_without_a_port_of_the_name_the_usual_one_is_called() -> None:
    assert found(slice_of("10.0.0.1", ports=[])).endpoints[0].urls == ["http://10.0.0.1:9090"]


def test_a_pod_in_two_slices_and_two_families_is_one_endpoint() -> None:
    six = slice_of(pod("fd00::1", name="a"), name="s6", addressType="IPv6")
    seen = found(six, slice_of(pod("10.0.0.1", name="a"), name="s0"), slice_of(pod("10.0.0.1", name="a"), name="s1"))
    assert [endpoint.urls for endpoint in seen.endpoints] == [["http://10.0.0.1:9090", "http://[fd00::1]:9090"]]


@run_each(
    ("conditions", "callable_"),
    [
        ({}, [True]),
        ({"ready": False}, [False]),
        ({"ready": False, "serving": True}, [True]),
        ({"ready": False, "serving": False}, [False]),
        ({"ready": False, "serving": True, "terminating": True}, []),
    ],
)
def test_a_pod_is_called_when_it_is_ready_or_serves_until_it_terminates(conditions: dict[str, Any], callable_: list[bool]) -> None:
    assert [endpoint.callable for endpoint in found(slice_of(pod("10.0.0.1", **conditions))).endpoints] == callable_


def test_a_pod_that_is_ready_in_one_slice_is_ready() -> None:
    seen = found(slice_of(pod("10.0.0.1", name="a", ready=False), name="s0"), slice_of(pod("10.0.0.1", name="a"), name="s1"))
    assert [endpoint.callable for endpoint in seen.endpoints] == [True]


@run_each(
    "address",
    [
        *("127.0.0.1", "169.254.169.254", "0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255", "168.63.129.16"),  # noqa: S104
        *("::1", "::", "fe80::1", "ff02::1", "fd00:ec2::254", "fd00::1%eth0", "::127.0.0.1", "2002:7f00:1::1"),
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0", "::ffff:a9fe:a9fe", "64:ff9b::169.254.169.254"),
        *("example.com", "", "10.0.0.1/8", "010.0.0.1", "[fd00::1]", "10.0.0.1@127.0.0.1"),
    ],
)
def test_an_address_that_is_no_pods_is_not_called(address: str) -> None:
    family = "IPv6" if ":" in address else "IPv4"
    assert found(slice_of(address, addressType=family)).endpoints == ()


def test_only_slices_of_the_clusters_controller_with_ip_addresses_are_believed() -> None:
    foreign = slice_of("10.0.0.1")
    del foreign["metadata"]["labels"][MANAGED_BY]
    assert found(foreign, slice_of("10.0.0.2", name="named", addressType="FQDN")).endpoints == ()
    assert len(list_endpoints([foreign], any_slice=True).endpoints) == 1


def test_endpoints_that_are_no_pods_of_the_namespace_are_passed_over() -> None:
    other = pod("10.0.0.2")
    other["targetRef"]["namespace"] = "elsewhere"
    nobody = {"addresses": ["10.0.0.3"]}
    node = {"addresses": ["10.0.0.4"], "targetRef": {"kind": "Node", "name": "n"}}
    nowhere = {"addresses": [], "targetRef": {"kind": "Pod", "name": "x"}}
    assert found(slice_of(other, nobody, node, nowhere)).endpoints == found(slice_of(endpoints=None)).endpoints == ()


def test_a_name_is_one_path() -> None:
    assert (escape_name("a%2Fb"), escape_name("..a")) == ("a%252Fb", "..a")


@run_each("name", ["", ".", "..", "../x", "a/../b", "a//b", "/a", "a/", "a\nb", "a\x7fb", "a\x85b"])
def test_a_name_that_calls_another_path_is_refused(name: str) -> None:
    with pytest.raises(InvalidNameError, match=r"^modelName: must hold no "):
        escape_name(name)


@run_each("text", ["", "[]", "{", "null", '{"a":1}', "[" * 100_000, '"\\ud800"'])
def test_an_annotation_of_others_is_nothing(text: str) -> None:
    obj = model()
    obj["metadata"]["annotations"] = {LOADED: text}
    assert read_names(obj) == {}


def test_the_newest_names_are_remembered() -> None:
    text = encode_names({f"n{number}": "d" for number in range(10)})
    obj = model()
    obj["metadata"]["annotations"] = {LOADED: text}
    assert list(read_names(obj)) == [f"n{number}" for number in range(2, 10)]
    assert encode_names({}) is None


def test_a_type_is_read_without_regard_to_case() -> None:
    assert is_lora(model(modelType="LoRA"))
    assert not is_lora(model(modelType="adapter"))
    assert not is_lora(model(modelType=None))
    assert lora_of(model(source=None)).uri == ""


def test_the_oldest_model_owns_an_adapter() -> None:
    models = [model("c"), model("b"), model("a")]
    for obj, moment in zip(models, ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"), strict=True):
        obj["metadata"]["creationTimestamp"] = moment
    assert owner_of(models[0], models)["metadata"]["name"] == "a"
    models[2]["metadata"]["deletionTimestamp"] = "2026-01-03T00:00:00Z"
    assert owner_of(models[0], models)["metadata"]["name"] == "b"
    assert owner_of(models[0], [model("x", modelType="base")]) is models[0]
