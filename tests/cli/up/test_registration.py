"""What `up` registers is what the manifests register, but for who is called."""

import base64
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.up.cluster import MARK, list_registrations

BASE: Final = Path(__file__).parents[3] / "manifests" / "base"
URL: Final = "https://10.0.0.1:9443"


def _without_caller(entry: dict[str, Any]) -> dict[str, Any]:
    client = entry["clientConfig"]
    path = client["service"]["path"] if "service" in client else client["url"].removeprefix(URL)
    return {**entry, "clientConfig": path}


@pytest.mark.parametrize("file", ["mutating", "validating"])
def test_webhooks_are_those_of_the_manifests(file: str) -> None:
    shipped = yaml.safe_load((BASE / f"{file}.yaml").read_text())
    [made] = [obj for resource, obj in list_registrations(URL, b"pem", Line.V1_2) if resource.kind == shipped["kind"]]
    by_name = ({entry["name"]: _without_caller(entry) for entry in each["webhooks"]} for each in (made, shipped))
    assert next(by_name) == next(by_name)
    assert {entry["clientConfig"]["caBundle"] for entry in made["webhooks"]} == {base64.b64encode(b"pem").decode()}


@pytest.mark.parametrize("line", list(Line))
def test_all_objects_bear_the_mark_and_definitions_convert_by_url(line: Line) -> None:
    made = [obj for _, obj in list_registrations(URL, b"pem", line)]
    assert all(MARK.items() <= obj["metadata"]["labels"].items() for obj in made)
    crds = [obj for obj in made if obj["kind"] == "CustomResourceDefinition"]
    assert [crd["metadata"]["name"] for crd in crds] == [kind.crd_name for kind in KINDS if kind.is_of(line)]
    urls = {crd["spec"]["conversion"]["webhook"]["clientConfig"]["url"] for crd in crds if len(crd["spec"]["versions"]) > 1}
    assert urls == {f"{URL}/convert"}
