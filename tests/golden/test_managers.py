"""The recorded objects under field managers: applied in their version, labelled in the other, applied again, nothing changes.

Many come from upstream's example manifests. What the API server wouldn't accept in both versions isn't tried.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Final

import pytest

from api.kinds import ALPHA, BETA
from api.schema import load_schema
from api.walk.prune import prune
from api.walk.validate import validate
from tests.golden.corpus import cases
from tests.laws.managers.apply import Object
from tests.laws.managers.law import breaches
from tests.laws.managers.sequences import OWNER, Intent, Sequence, Step
from tests.laws.managers.test_managers import TRIED, modelled
from tests.laws.managers.typed import InvalidError

pytestmark = pytest.mark.golden
ENOUGH: Final = 1000
# A sidecar called main, whose probe v1beta1 has in a second container of that name; and an empty list of client pods in a gpuMemoryService.
OPEN: Final = 2
LABEL: Final = {"metadata": {"labels": {"a": "b"}}}


def _manifests() -> Iterator[Object]:
    """The specs of recorded objects, each once, as manifests of their version."""
    seen = set()
    for case in cases("golden.ndjson.gz", "convert"):
        obj = case["object"]
        if obj["kind"] not in TRIED or case["id"].endswith(("-back", "-again")) or type(obj.get("spec")) is not dict:
            continue
        manifest: Object = {name: obj.get(name) for name in ("apiVersion", "kind", "spec")}
        text = json.dumps(manifest, sort_keys=True)
        if text not in seen:
            seen.add(text)
            yield {**manifest, "metadata": {"name": "t", "namespace": "default"}}


def _accepted(manifest: Object) -> bool:
    """Whether the API server accepts the manifest without dropping anything, and would accept what it is in the other version."""
    version = manifest["apiVersion"].rpartition("/")[2]
    if prune(copy.deepcopy(manifest), load_schema(manifest["kind"], version)):
        return False
    server = modelled(manifest["kind"])
    try:
        server.apply(manifest, OWNER)
    except InvalidError:
        return False
    return not validate(server.read(_other(version)), load_schema(manifest["kind"], _other(version)))


def _other(version: str) -> str:
    return BETA if version == ALPHA else ALPHA


def test_recorded_objects_are_stable() -> None:
    """Each, whatever it says."""
    tried, broken = 0, []
    for manifest in filter(_accepted, _manifests()):
        tried += 1
        version = manifest["apiVersion"].rpartition("/")[2]
        steps = (Step(Intent.FIRST, version, OWNER, manifest), Step(Intent.LABEL, _other(version), "kubectl", LABEL))
        if found := breaches(Sequence(manifest["kind"], steps), modelled):
            broken.append(f"{found}\n{json.dumps(manifest)}")
    assert len(broken) <= OPEN, f"{len(broken)} of {tried}, the first ones:\n" + "\n".join(sorted(broken, key=len)[:5])
    assert tried > ENOUGH
