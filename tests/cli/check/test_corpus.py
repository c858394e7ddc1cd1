"""The recorded answers of a real API server: the schema stage of `check` accepts and refuses the same objects, read from text."""

import json

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.objects.manifest import find_manifests
from dynamo_webhooks.cli.validation.levels import CEL, ERROR, SCHEMA
from dynamo_webhooks.cli.validation.pipeline import Settings, check_object
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE
from tests.golden.corpus import cases

pytestmark = pytest.mark.golden


def test_the_schema_stage_agrees_with_a_real_api_server() -> None:
    wrong = []
    for case in cases("schema.ndjson.gz", "schema"):
        (found,) = find_manifests(load_documents(json.dumps(case["object"], indent=1)))
        outcome = check_object(found, CREATE, None, Settings(Facts(operatorLine=Line.V1_2), defaults=False))
        refusing = [finding for finding in outcome.findings if finding.level == ERROR and finding.stage in (SCHEMA, CEL)]
        if bool(refusing) is case["expect"]["accepted"]:
            wrong.append((case["id"], [(finding.path, finding.message) for finding in refusing]))
        lines = {finding.position.line for finding in outcome.findings}
        assert all(1 <= line <= len(found.document.source.lines) for line in lines)
    assert not wrong, wrong[:10]
