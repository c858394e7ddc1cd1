"""Recorded writes of operator line 1.5, through a real API server with the definitions and our webhooks of that line.

All of them are compared without one (tests/golden/test_line15.py); here the API server's own steps are in between. `make line15` sends
all, `make cluster` each twentieth.
"""

import copy
import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import pytest
import yaml

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.kinds import KINDS as ALL
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.models.constraints import MIN_AVAILABLE_KEPT
from dynamo_webhooks.api.paths import Key, lookup
from tests.api.admit import admit
from tests.cluster.admission import register, serving
from tests.cluster.conversion import KINDS
from tests.cluster.definitions import install
from tests.cluster.harness import ControlPlane
from tests.cluster.planes import Planes
from tests.cluster.webhooks.test_cel import collection, says
from tests.golden.corpus import cases, compare, corpus_file
from tests.golden.test_line15 import DECIDED, OBJECT, SKIPS, comparable, is_of_pods, is_restored, listed

EVERY: Final = int(os.environ.get("LINE15_EVERY", "20"))
# where ours is stricter on purpose: rules of profile current that the Go operator lacks, and no switch that is filled in. What is refused
# for these can't be stored, so that its update can't be tried
STRICTER: Final = (
    *("[dcd-interpod-unsupported]", "[failover-intrapod-requires-vllm]", "[resources-quantity-invalid]"),
    *("[compilation-cache-mount-required]", ".experimental.checkpoint.enabled: Required value"),
    # and rules of the released line, tests/golden/line15-released.txt: GA11, GA18, GA19
    *("[epp-runtime-config-forbidden]", "[epp-runtime-config-required]", "[epp-runtime-version-required]"),
    *("[checkpoint-use-of-workers]", "[checkpoint-use-of-graphs]"),
    # and pods that the API server would refuse
    *("[pod-refused]", "[ckpt-pod-refused]", "[dgdr-pod-refused]", "[pod-ends-off-grove]"),
)
_RULE: Final = re.compile(r" \[([a-z0-9-]+)\](?=; |\]?$)")
UNTRIED: Final = "the object before the update is refused"


def facts_of_line_1_5() -> dict[str, Any]:
    """The facts of the recorded writes."""
    return {**yaml.safe_load(corpus_file("context-15.yaml").read_text()), "checkpoint": True, "istio": False, "switchedOff": []}


@pytest.fixture(scope="module")
def plane(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server of line 1.5."""
    home = tmp_path_factory.mktemp("line15")
    with serving(home / "serve", facts_of_line_1_5()) as server, planes.lend() as found:
        install(found, *(build(kind.name, conversion=server.stanza() if kind.name in KINDS else None, line=Line.V1_5) for kind in ALL))
        register(found, server, "line15")
        yield found


def test_writes_are_answered_as_by_line_1_5(plane: ControlPlane) -> None:
    chosen = [*islice((case for case in cases("line15.ndjson.gz", "api") if case["expect"]["code"] in DECIDED), 0, None, EVERY)]
    found = {case["id"]: _differs(plane, case) for case in chosen if case["id"] not in listed()}
    wrong = [f"{name}: {text}" for name, text in found.items() if text not in ("", UNTRIED)]
    untried = sum(text == UNTRIED for text in found.values())
    apart = [case["id"] for case in chosen if not listed(SKIPS).get(case["id"], OBJECT).startswith(OBJECT)]
    print(f"{len(chosen)} writes: {len(wrong)} answered otherwise, {len(apart)} listed with another verdict, {untried} updates not tried")
    assert not wrong, "\n".join(wrong)
    if EVERY == 1:  # of a sample it would be chance
        assert len(apart) <= (len(chosen) - untried) // 100
        assert untried <= len(chosen) // 100


def _differs(plane: ControlPlane, case: dict[str, Any]) -> str:
    user = case.get("user") or ""
    new, expect = copy.deepcopy(case["object"]), case["expect"]
    path = f"/apis/{new['apiVersion']}/namespaces/default/{new['kind'].lower()}s"
    one = f"{path}/{new['metadata']['name']}"
    if case["operation"] == "CREATE":
        reply = plane.request("POST", f"{path}?dryRun=All&fieldValidation=Ignore", new, acting=user)
    else:
        old = case["old"]
        stored = plane.request("POST", f"/apis/{old['apiVersion']}/namespaces/default/{old['kind'].lower()}s?fieldValidation=Ignore", old)
        if stored.status != 201:
            message = str(stored.body.get("message"))
            return UNTRIED if any(words in message for words in STRICTER) else f"{UNTRIED}: {message}"
        new["metadata"] |= {name: stored.body["metadata"][name] for name in ("resourceVersion", "uid")}
        reply = plane.request("PUT", f"{one}?dryRun=All&fieldValidation=Ignore", new, acting=user)
        plane.request("DELETE", one)
    if reply.status < 300 and not expect["accepted"] and is_restored(case):
        return ""
    if reply.status >= 300 and expect["accepted"] and is_of_pods(_RULE.findall(str(reply.body.get("message")))):
        return ""
    if (reply.status < 300) is not expect["accepted"]:
        return f"expected accepted={expect['accepted']}, got {reply.status} {reply.body.get('message')}"
    if reply.status >= 300:
        return ""
    return "; ".join(list(compare().diff(comparable(reply.body), comparable(expect["object"])))[:3])


@pytest.mark.parametrize("version", [ALPHA, BETA])
def test_a_minimum_stays_as_it_was_set(plane: ControlPlane, version: str) -> None:
    if version == ALPHA:
        part: dict[str, Any] = {"minAvailable": 1, "replicas": 3, "extraPodSpec": {"mainContainer": {"image": "x/vllm:1.5.0"}}}
        path: tuple[str | int, ...] = ("spec", "services", Key("w"))
    else:
        container = {"name": "main", "image": "x/vllm:1.5.0"}
        part = {"name": "w", "minAvailable": 1, "replicas": 3, "podTemplate": {"spec": {"containers": [container]}}}
        path = ("spec", "components", 0)
    spec = {"services": {"w": part}} if version == ALPHA else {"components": [part]}
    new = {"apiVersion": f"nvidia.com/{version}", "kind": "DynamoGraphDeployment", "metadata": {"name": "t"}, "spec": spec}
    made = plane.request("POST", collection(new), new).done()
    one = f"{collection(new)}/t"
    try:
        for minimum in (1, 2):  # one that is taken away is filled in again
            changed = copy.deepcopy(made)
            inner: Any = lookup(changed, path)
            inner["minAvailable"] = minimum
            reply = plane.request("PUT", f"{one}?dryRun=All", changed)
            offline = admit(copy.deepcopy(changed), "DynamoGraphDeployment", version, copy.deepcopy(made), Line.V1_5)
            refused = any(error.rule == MIN_AVAILABLE_KEPT.id for error in offline.errors)
            assert says(reply, path, MIN_AVAILABLE_KEPT) == refused == (minimum != 1), (minimum, reply.body)
    finally:
        plane.request("DELETE", one)
