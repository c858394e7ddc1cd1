"""What is refused in a pod template, and the volumes that are there without being written."""

import pytest

from dynamo_webhooks.api.paths import MISSING, lookup
from dynamo_webhooks.policies.pods import list_refused, list_template_mistakes
from tests.policies.pod_edits import EDITS, TAKEN, edited


@pytest.mark.parametrize("name", EDITS)
def test_what_an_api_server_refuses_is_found_at_its_place(name: str) -> None:
    spec = edited(name)
    faults = list_refused({}, {"spec": spec})
    assert bool(faults) is (name not in TAKEN), faults
    for path, text in faults:
        assert text.startswith("must ")
        assert lookup({"spec": spec}, path[:-1]) is not MISSING, path


def test_the_main_container_brings_the_claims_that_it_mounts() -> None:
    mount = {"name": "weights", "mountPath": "/w"}
    mounts = [mount, {"name": "shared-memory", "mountPath": "/m"}]
    spec = {"containers": [{"name": "main", "volumeMounts": [mount]}, None, {"name": "side", "image": "a", "volumeMounts": mounts}]}
    assert list_refused({}, {"spec": spec}) == []
    assert [path[2::2] for path, _ in list_template_mistakes({"spec": spec}, frozenset())] == [(0, 0), (2, 0), (2, 1)]
