"""`check` on objects that are too long for the kind's other version: the server's sentence, with file and line in every report."""

import pytest

from dynamo_webhooks.conversion.bounds import TOO_LONG
from dynamo_webhooks.conversion.weight import NAME
from dynamo_webhooks.policies.checks import LONG_REMAINDER
from tests.cli.conftest import Command, Files
from tests.cli.samples import GOOD
from tests.conversion.test_bounds import noise

TOLD = "must be smaller: in v1beta1 it needs 294 of 256 KiB of annotations"
BETA = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {{name: a, namespace: llm}}
spec:
  components:
    - name: w
      type: worker
      podTemplate:
        metadata: {{finalizers: [{text}]}}
        spec: {{containers: [{{name: main, image: "x/vllm:1.5.0"}}]}}
"""


@pytest.fixture
def long(files: Files) -> str:
    """A graph whose longest text stands in line 10."""
    lines = GOOD.splitlines()
    files(a="\n".join([*lines, f"      annotations: {{note: {noise(300_000)}}}", ""]))
    return str(len(lines) + 1)


def test_the_command_and_the_server_call_it_the_same() -> None:
    assert LONG_REMAINDER.name == NAME


def test_text_and_json_name_file_line_and_field(command: Command, long: str) -> None:
    asked = command("check", "a.yaml", "-o", "json", "--select", NAME)
    (found,) = asked.json["findings"]
    assert (found["file"], str(found["line"]), found["level"], found["stage"]) == ("a.yaml", long, "error", "conversion")
    assert found["path"].endswith(".annotations[note]")
    assert (found["message"], asked.code) == (TOLD, 1)
    out = command("check", "a.yaml", "--select", NAME).out
    assert f"a.yaml:{long}:" in out
    assert TOLD in out


def test_a_server_refuses_in_the_same_words(command: Command, long: str) -> None:
    assert long
    assert f"spec.services[worker].annotations[note]: {TOLD} [{NAME}]" in command("check", "a.yaml", "--answer").out


def test_what_the_api_server_would_refuse_is_an_error(command: Command, files: Files) -> None:
    files(a=BETA.format(text=noise(300_000)))
    asked = command("check", "a.yaml", "-o", "json", "--select", NAME)
    (found,) = asked.json["findings"]
    assert (found["line"], found["level"], asked.code) == (9, "error", 1)
    assert found["message"] == "must be smaller: in v1alpha1 it needs 294 of 256 KiB of annotations"
    assert f"{found['message']} [{NAME}]" in command("check", "a.yaml", "--answer").out


def test_what_fits_is_quiet(command: Command, files: Files) -> None:
    files(a=BETA.format(text=noise(100_000)))
    assert command("check", "a.yaml", "-o", "json", "--ignore", "field-without-effect").json["findings"] == []


def test_what_is_stored_is_a_warning_beside_its_old_file(command: Command, files: Files, long: str) -> None:
    files(b=(files() / "a.yaml").read_text().replace("replicas: 2", "replicas: 3"))
    asked = command("check", "b.yaml", "--line", "1.2", "--old", "a.yaml", "-o", "json", "--select", NAME)
    (found,) = asked.json["findings"]
    assert (str(found["line"]), found["level"], asked.code) == (long, "warning", 0)
    assert found["message"] == "must be smaller: 294 of 256 KiB of annotations in v1beta1; read-only there"


def test_convert_loses_nothing_of_it_and_says_that_it_is_refused(command: Command, files: Files, long: str) -> None:
    assert long
    there = command("convert", "--to", "v1beta1", "a.yaml")
    assert there.code == 1
    assert "check refuses the converted object: metadata.annotations: Too long" in there.err
    assert TOO_LONG not in there.err + there.out
    files(b=there.out)
    assert noise(300_000) in command("convert", "--to", "v1alpha1", "b.yaml").out
