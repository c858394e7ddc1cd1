"""Golden renders of each component type, framework and feature; `python -m tests.reconciler.render.golden` writes them anew."""

import json

from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.reconciler.render.golden import FOLDER, load_case, names, render_case, text_of
from tests.reconciler.rendering import VERSION, stored
from tests.rows import run_each

NAMES = names()


@run_each("name", NAMES)
def test_a_case_renders_as_expected(name: str) -> None:
    case = load_case(name)
    assert render_case(case).problems == []
    assert text_of(case) == case.expected.read_text()


@run_each("name", NAMES)
def test_the_other_version_of_a_case_renders_the_same_bytes(name: str) -> None:
    case = load_case(name)
    settings = Settings(**{"operator_version": VERSION, **case.settings})
    obj = stored(case.object, settings.operator_version)
    other = "nvidia.com/v1alpha1" if obj["apiVersion"].endswith("v1beta1") else "nvidia.com/v1beta1"
    assert json.dumps(render(convert_object(obj, target(other, line=settings.line)).object, settings)) == json.dumps(render(obj, settings))


def test_every_expected_file_belongs_to_a_case() -> None:
    assert {file.name.partition(".")[0] for file in FOLDER.glob("*.yaml")} == set(NAMES)
