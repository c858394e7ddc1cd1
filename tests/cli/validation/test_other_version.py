"""Fields that were written by their names in the other version: every one that the lenses know is named, and `--fix` moves it."""

import re
from typing import Any, Final

import yaml

from dynamo_webhooks.api.kinds import api_version
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.api.schema import find_node, whole_schema
from dynamo_webhooks.cli.validation.other_version import find_foreign
from dynamo_webhooks.conversion.kinds import KINDS, field_rows
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import convert_object, target
from tests.cli.conftest import Command, Files
from tests.cli.recorded import OTHER, sample
from tests.cli.sizes import by_day_and_night
from tests.rows import run_each

ROWS: Final = [(kind, row) for kind in KINDS for row in field_rows(KINDS[kind])]
GRAPH: Final = "apiVersion: nvidia.com/{}\nkind: DynamoGraphDeployment\nmetadata: {{name: g}}\nspec:\n  backendFramework: vllm\n{}"


def _path(name: str, version: str) -> tuple[str | int, ...]:
    """A path of the field map with a key and an index."""
    name = name.replace("services{}", "services.{}").replace("components[]", "components.[]")
    steps = (step for step in re.split(r"\.(?![^\[]*\])", name))
    return tuple(Key("w") if step == "{}" else 0 if step == "[]" else step for step in steps)


@run_each(("kind", "row"), ROWS, ids=[f"{kind}-{row[0] or row[1]}" for kind, row in ROWS])
def test_each_field_that_the_lenses_know_is_named(kind: str, row: tuple[str, str, str]) -> None:
    for side, version in enumerate(("v1alpha1", "v1beta1")):
        own = OTHER[version]
        for name in filter(None, row[side].split(", ")):
            path = _path(name, version)
            if path[0] != "spec" or "[" in name.replace("[]", "") or find_node(whole_schema(kind, version), path) is None:
                continue
            # the same field in the own version's blocks, which have the same names up to a component
            here = tuple(
                {"services": "components", "components": "services"}.get(str(step), step) if len(path) > 2 else step for step in path
            )
            here = tuple(0 if isinstance(step, Key) else Key("w") if step == 0 else step for step in here)
            if find_node(whole_schema(kind, own), here) is not None or find_node(whole_schema(kind, own), here[:-1]) is None:
                continue
            data = {"spec": {"components": [{"name": "w"}], "services": {"w": {}}}}
            foreign = find_foreign(kind, own, here, data)
            assert foreign is not None, (own, here)
            assert (foreign.version, foreign.here is not None) == (version, bool(row[1 - side])), (own, here, foreign)


ITEM: Final = "  components:\n  - name: w\n"
LIMITS: Final = "  services:\n    w:\n      resources:\n        limits:\n"
# the version, what is written, the field and its name there, what becomes of it
FIXED: Final = [
    ("v1beta1", "  envs:  # all\n  - {name: A, value: b}\n", "spec.envs", "env", "  env:  # all\n  - {name: A, value: b}\n"),
    (
        *("v1beta1", f"{ITEM}    componentType: worker  # works\n    subComponentType: prefill\n    replicas: 1\n"),
        *("spec.components[0].componentType", "type", f"{ITEM}    type: prefill  # works\n    replicas: 1\n"),
    ),
    (
        *("v1beta1", f"{ITEM}    extraPodSpec:\n      mainContainer:\n        image: x:1.5.0  # image\n"),
        *("spec.components[0].extraPodSpec", "podTemplate.spec"),
        f"{ITEM}    podTemplate:\n      spec:\n        containers:\n        - name: main\n          image: x:1.5.0  # image\n",
    ),
    (
        *("v1beta1", "  services:\n    w:  # first\n      componentType: worker\n      replicas: 1\n", "spec.services", "components"),
        "  components:\n    - name: w  # first\n      type: worker\n      replicas: 1\n",
    ),
    (
        *("v1alpha1", "  components:\n  - name: w  # first\n    type: prefill\n", "spec.components", "services"),
        "  services:\n    w:  # first\n      componentType: worker\n      subComponentType: prefill\n",
    ),
    (
        *("v1alpha1", f'{LIMITS}          nvidia.com/gpu: "1"  # one\n', "spec.services[w].resources.limits.nvidia.com/gpu", "gpu"),
        f'{LIMITS}          gpu: "1"  # one\n',
    ),
]


@run_each(("version", "written", "path", "name", "fixed"), FIXED)
def test_a_body_of_the_other_version_is_named_and_converted(
    command: Command, files: Files, version: str, written: str, path: str, name: str, fixed: str
) -> None:
    folder = files(a=GRAPH.format(version, written))
    ran = command("check", "a.yaml", "-o", "json")
    findings = [finding for finding in ran.json["findings"] if finding["rule"] == "unknown-field"]
    assert (path, f"is {OTHER[version]}'s name of {name}") in [(finding["path"], finding["message"]) for finding in findings]
    alone = {"v1alpha1": "services:", "v1beta1": "components:"}[version] not in written  # else the other version lacks the rest
    assert all((f"or apiVersion: {api_version(OTHER[version])}" in finding["fix"]) is alone for finding in findings)
    command("check", "a.yaml", "--fix")
    assert (folder / "a.yaml").read_text() == GRAPH.format(version, fixed)


def test_a_resource_by_the_name_of_v1alpha1_is_named_and_renamed(command: Command, files: Files) -> None:
    """The schema takes any name; Kubernetes refuses the pods."""
    container = "{name: main, image: 'x:1.5.0', resources: {limits: {gpu: '1', cpu: '2'}, requests: {gpu: '1'}}}"
    text = GRAPH.format("v1beta1", f"  components:\n  - name: w\n    podTemplate: {{spec: {{containers: [{container}]}}}}\n")
    folder = files(a=text)
    rows = [row for row in command("check", "a.yaml", "-o", "json").json["findings"] if row["rule"] == "name-of-other-version"]
    path = "spec.components[0].podTemplate.spec.containers[0].resources.{}[gpu]"
    assert [row["path"] for row in rows] == [path.format("limits"), path.format("requests")]
    assert {row["message"] for row in rows} == {"is v1alpha1's name of nvidia.com/gpu; here it is another resource"}
    command("check", "a.yaml", "--fix")
    assert (folder / "a.yaml").read_text() == text.replace("gpu: '1'", "nvidia.com/gpu: '1'")


def test_what_a_version_has_no_field_for_is_left_to_a_person(command: Command, files: Files) -> None:
    text = GRAPH.format(
        "v1beta1", "  components:\n  - name: w\n    ingress: {enabled: false}\n    envs: [{name: A, value: b}]\n    env: []\n"
    )
    folder = files(a=text)
    ran = command("check", "a.yaml", "--fix", "-o", "json")
    assert [(finding["path"], finding["message"]) for finding in ran.json["findings"] if finding["rule"] == "unknown-field"] == [
        ("spec.components[0].ingress", "is a field of v1alpha1, and none of v1beta1"),
        ("spec.components[0].env", "is not a field of this kind"),
    ]
    assert "name: main" in (folder / "a.yaml").read_text()


@by_day_and_night("apart", 540, 60)
def test_a_recorded_object_with_the_wrong_version_becomes_what_conversion_makes_of_it(command: Command, files: Files, apart: int) -> None:
    """Or stays, where the declared version has no place for a part of it."""
    moved = 0
    for obj in sample(apart):
        plain = {**obj, "metadata": {"name": "g"}, "apiVersion": api_version(version := OTHER[obj["apiVersion"].partition("/")[2]])}
        plain.pop("status", None)
        folder = files(a=yaml.safe_dump(plain, sort_keys=False))
        command("check", "a.yaml", "--fix", "-q", "--line", Line.V1_5)
        new: dict[str, Any] = yaml.safe_load((folder / "a.yaml").read_text())
        if new == plain or "unknown-field" in command("check", "a.yaml", "--line", Line.V1_5).out:
            continue
        try:
            made = convert_object({**plain, "apiVersion": obj["apiVersion"]}, target(api_version(version), Line.V1_5)).object
        except ConversionError:
            continue
        # what has one name in both versions and another form is no unknown field
        alike = [
            {name: spec[name] for name in spec if name not in ("frontendSidecar", "scalingAdapter")} for spec in (new["spec"], made["spec"])
        ]
        assert alike[0] == alike[1], yaml.safe_dump(plain)
        moved += 1
    assert moved
