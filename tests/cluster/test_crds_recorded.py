"""The files of manifests/crds, converted by our server, answer 2,500 recorded creates as the Go operator's definitions did."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.cli.yaml.load import load_documents
from tests.cluster.conversion import converting_plane, without_server_fields
from tests.cluster.harness import ControlPlane
from tests.golden.corpus import cases, compare, without_conversion
from tools.crd_files import FOLDER

THREADS = 4


def _difference(plane: ControlPlane, case: dict[str, Any]) -> str:
    obj, expect = case["object"], case["expect"]
    path = f"/apis/{obj['apiVersion']}/namespaces/default/{BY_NAME[obj['kind']].plural}?dryRun=All&fieldValidation=Ignore"
    reply = plane.request("POST", path, obj)
    if (reply.status == 201) != expect["accepted"]:
        return f"{reply.status} {reply.body.get('message')}, expected accepted={expect['accepted']}"
    if not expect["accepted"]:
        missing = reply.causes() ^ {tuple(cause) for cause in expect["causes"]}
        return f"causes: {sorted(missing)}" if missing else ""
    got, want = without_server_fields(reply.body), expect["object"]
    if not obj["apiVersion"].endswith(f"/{BY_NAME[obj['kind']].storage_version}"):
        got, want = without_conversion(got), without_conversion(want)
    return "; ".join(compare().diff(got, want))


@pytest.mark.golden
def test_recorded_creates_are_answered_as_recorded(assets: Path, tmp_path: Path) -> None:
    """All versions are served at once, so what is not of the stored one goes through our conversion and back, as it did through theirs."""
    crds = [document.data for file in sorted(FOLDER.glob("*.yaml")) for document in load_documents(file.read_text())]
    recorded = [*cases("schema.ndjson.gz", "schema")]
    with converting_plane(assets, tmp_path) as (plane, converter):
        for crd in crds:
            if "conversion" in crd["spec"]:
                crd["spec"]["conversion"] = converter.stanza()
        plane.install(*crds)
        with ThreadPoolExecutor(THREADS) as threads:
            found = [*threads.map(partial(_difference, plane), recorded)]
        assert len(converter.lines()) > 1000
    assert [f"{case['id']}: {wrong}" for case, wrong in zip(recorded, found, strict=True) if wrong] == []
    assert len(recorded) == 2500
