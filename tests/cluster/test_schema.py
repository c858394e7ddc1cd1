"""Our CustomResourceDefinitions, on a real API server without our webhooks, answer creates as those of the Go operator did."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

from api.kinds import BY_NAME
from tests.cluster.harness import Reply
from tests.golden.corpus import cases, compare

if TYPE_CHECKING:
    from tests.cluster.harness import ControlPlane

Node: TypeAlias = dict[str, Any]
_SERVERS_OWN: Final = ("managedFields", "uid", "creationTimestamp", "generation", "resourceVersion", "selfLink")


def _create(plane: ControlPlane, obj: Node) -> Reply:
    path = f"/apis/{obj['apiVersion']}/namespaces/default/{BY_NAME[obj['kind']].plural}"
    return plane.request("POST", f"{path}?dryRun=All&fieldValidation=Ignore", obj)


def _difference(reply: Reply, expected: Node, *, stored: bool) -> list[str]:
    """What differs; objects are compared only in the version that was stored, since others went through the reference's conversion."""
    if (reply.status == 201) != expected["accepted"]:
        return [f"accepted must be {expected['accepted']}: {reply.status} {reply.body.get('message', '')[:300]}"]
    if not expected["accepted"]:
        causes = {tuple(cause) for cause in expected["causes"]}
        return [] if reply.causes() == causes else [f"causes must be {sorted(causes)}, got {sorted(reply.causes())}"]
    metadata = {key: value for key, value in reply.body["metadata"].items() if key not in _SERVERS_OWN}
    return list(compare().diff({**reply.body, "metadata": metadata}, expected["object"])) if stored else []


@pytest.mark.golden
@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_creates_are_answered_as_recorded(name: str, request: pytest.FixtureRequest) -> None:
    plane: ControlPlane = request.getfixturevalue(name)
    served = plane.versions()
    asked = [case for case in cases("schema.ndjson.gz", "schema") if (case["object"]["kind"], case["object"]["apiVersion"]) in served]
    assert len(asked) > 500

    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda case: _create(plane, case["object"]), asked))
    wrong = {
        case["id"]: found
        for case, reply in zip(asked, replies, strict=True)
        if (found := _difference(reply, case["expect"], stored=name == "alpha"))
    }
    assert not wrong, f"{len(wrong)} of {len(asked)} differ: {dict(list(wrong.items())[:10])}"
