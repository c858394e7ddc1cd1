"""Objects in less memory: equal parts are one, and nothing that is different is."""

import copy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamo_webhooks.reconciler.engine.cache import MOST, Sharing
from tests.reconciler.site import disagg, running

SCALARS = st.none() | st.booleans() | st.integers(0, 3) | st.floats(0, 1) | st.sampled_from(["", "a", "b", "1"])
VALUES = st.recursive(SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("ab01"), below, max_size=3))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # of a busy machine
@given(st.lists(st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3), max_size=8))
def test_what_is_shared_says_the_same_as_before(objects: list[dict[str, Any]]) -> None:
    sharing, before = Sharing(), copy.deepcopy(objects)
    for obj in objects:
        sharing.share(obj)
    assert repr(objects) == repr(before)  # 1, 1.0 and True are equal, and not the same


def test_equal_parts_are_one_and_different_ones_are_not() -> None:
    sharing = Sharing()
    one, two = ({"spec": {"args": ["--model", "m"], "image": image}} for image in ("i", "j"))
    again = copy.deepcopy(one)
    for obj in (one, two, again):
        sharing.share(obj)
    assert again["spec"] is one["spec"]
    assert two["spec"] is not one["spec"]
    assert two["spec"]["args"] is one["spec"]["args"]


def test_what_is_met_again_and_again_is_remembered_and_no_more_than_a_few_others() -> None:
    sharing = Sharing()
    common = {"spec": {"args": ["--model", "m"]}}
    sharing.share(common)
    for number in range(MOST):
        sharing.share({"metadata": {"uid": f"u{number}", "labels": {"name": f"n{number}"}}})
        met = {"spec": {"args": ["--model", "m"]}}
        sharing.share(met)
        assert met["spec"] is common["spec"]
        assert len(sharing) <= 2 * MOST


async def test_nothing_that_a_pass_does_changes_what_the_cache_holds() -> None:
    async with running() as site:
        for name in ("a", "b", "c"):
            await site.make(disagg(name))
        await site.rest()
        await site.edit("a", 1, replicas=3)
        await site.edit("b", 0, podTemplate={"spec": {"containers": [{"name": "main", "image": "img:2"}]}})
        for kind, reflector in site.cache.reflectors.items():
            for (namespace, name), held in reflector.store.items():
                stored = [
                    record.obj
                    for (_, _, where, called), record in site.storage.records.items()
                    if (record.obj["kind"], where, called) == (held.get("kind"), namespace, name)
                ]
                assert [_light(one) for one in stored] == [held], f"{kind} {name}"


def _light(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": metadata}
