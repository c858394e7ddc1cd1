"""Where a value of a composed container is written in v1alpha1."""

from collections.abc import Iterator
from typing import Final

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import MISSING, Key, Path, format_path, lookup
from dynamo_webhooks.conversion.engine import convert_for_reading
from dynamo_webhooks.conversion.kinds import kind_of
from dynamo_webhooks.conversion.lens.protocol import Fields
from dynamo_webhooks.conversion.translate import translate_path
from tests.laws.dice import Dice
from tests.laws.strategies import make_object

COMPONENT: Final = "DynamoComponentDeployment"
SEED: Final = 51
OF_A_LINE: Final = 150
PROBE: Final = {"httpGet": {"path": "/live", "port": 9090}, "periodSeconds": 5}
SPEC: Final[Fields] = {
    "envs": [{"name": "A", "value": "flat"}, None, {"name": "B", "value": "flat"}],
    "envFromSecret": "token",
    "resources": {"limits": {"gpu": "1", "gpuType": "x.io/gpu", "memory": "1Gi"}},
    "livenessProbe": PROBE,
    "volumeMounts": [
        {"name": "p", "mountPoint": "/p"},
        {"name": "c", "mountPoint": "/c", "useAsCompilationCache": True},
        {"name": "q", "mountPoint": "/q"},
    ],
    "frontendSidecar": {"image": "example/front:1", "envs": [{"name": "F", "value": "f"}], "envFromSecret": "front"},
    "extraPodSpec": {
        "mainContainer": {
            "image": "example/main:1",
            "env": [{"name": "B", "value": "main"}, {"name": "C", "value": "main"}],
            "resources": {"limits": {"cpu": "2"}, "requests": {"memory": "1Gi"}},
            "livenessProbe": {"periodSeconds": 7},
            "volumeMounts": [{"name": "m", "mountPath": "/m"}],
        },
        "containers": [None, {"name": "main"}, {"name": "side", "image": "example/side:1"}],
    },
}
M: Final = ("spec", "podTemplate", "spec", "containers", 0)
MAIN: Final = "extraPodSpec.mainContainer"
PLACES: Final[list[tuple[Path, str]]] = [
    ((*M, "env", 0, "value"), "envs[0].value"),
    ((*M, "env", 1, "value"), f"{MAIN}.env[0].value"),
    ((*M, "env", 2, "name"), f"{MAIN}.env[1].name"),
    ((*M, "envFrom", 0, "secretRef", "name"), "envFromSecret"),
    ((*M, "resources", "limits", Key("cpu")), f"{MAIN}.resources.limits[cpu]"),
    ((*M, "resources", "requests", Key("memory")), f"{MAIN}.resources.requests[memory]"),
    ((*M, "resources", "limits", Key("memory")), "resources.limits.memory"),
    ((*M, "resources", "limits", Key("x.io/gpu")), "resources.limits.gpu"),
    ((*M, "livenessProbe", "periodSeconds"), f"{MAIN}.livenessProbe.periodSeconds"),
    ((*M, "livenessProbe", "httpGet", "port"), "livenessProbe.httpGet.port"),
    ((*M, "livenessProbe", "httpGet", "host"), "livenessProbe.httpGet.host"),
    ((*M, "readinessProbe"), "readinessProbe"),
    ((*M, "volumeMounts", 0, "mountPath"), f"{MAIN}.volumeMounts[0].mountPath"),
    ((*M, "volumeMounts", 1, "name"), "volumeMounts[0].name"),
    ((*M, "volumeMounts", 2, "mountPath"), "volumeMounts[2].mountPoint"),
    (("spec", "compilationCache", "pvcName"), "volumeMounts[1].name"),
    (("spec", "podTemplate", "spec", "containers", 1, "image"), "extraPodSpec.containers[2].image"),
    (("spec", "podTemplate", "spec", "containers", 2, "env", 0, "value"), "frontendSidecar.envs[0].value"),
    (("spec", "podTemplate", "spec", "containers", 2, "envFrom", 0), "frontendSidecar.envFromSecret"),
]


def test_a_value_of_main_is_found_where_its_author_wrote_it(subtests: pytest.Subtests) -> None:
    kind, written = kind_of(COMPONENT, Line.V1_6), {"apiVersion": "nvidia.com/v1alpha1", "kind": COMPONENT, "spec": SPEC}
    judged = convert_for_reading(kind, written, BETA)
    for path, wanted in PLACES:
        with subtests.test(wanted):
            place = translate_path(kind, path, judged, ALPHA, written)
            assert format_path(place.path) == f"spec.{wanted}"
            assert place.exact


@pytest.mark.parametrize("line", Line)
def test_a_value_of_any_container_has_a_place_that_is_there(line: Line) -> None:
    kind, seen = kind_of(COMPONENT, line), 0
    for number in range(OF_A_LINE):
        written = make_object(Dice(SEED, "written", line, number), COMPONENT, ALPHA, line=line)
        written["metadata"].pop("annotations", None)  # which hold values of v1beta1
        judged = convert_for_reading(kind, written, BETA)
        for path in _leaves(judged.get("spec", {}).get("podTemplate", {}).get("spec", {}).get("containers"), M[:-1]):
            if path[5:] == ("name",):
                continue
            place = translate_path(kind, path, judged, ALPHA, written).path
            there = lookup(written, place)
            assert there is not MISSING, (number, format_path(path), format_path(place))
            if "resources" not in path:
                assert there == lookup(judged, path) or place[-1] == "envFromSecret", (number, format_path(path), format_path(place))
            seen += 1
    assert seen > OF_A_LINE


def _leaves(value: object, path: Path) -> Iterator[Path]:
    if isinstance(value, dict):
        for name, below in value.items():
            yield from _leaves(below, (*path, Key(name)))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _leaves(below, (*path, index))
    elif value is not None:
        yield path
