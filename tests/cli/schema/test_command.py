"""The command `schema`: what is printed and written, and that our own JSON is as its schemas say."""

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA, KINDS, list_kind_versions
from dynamo_webhooks.api.line import DEFAULT_LINE
from dynamo_webhooks.certs.gather import RotationFacts
from dynamo_webhooks.cli.commands.certs.work import describe_cluster
from dynamo_webhooks.cli.commands.doctor.finding import as_data, error, info
from dynamo_webhooks.cli.commands.schema.kinds import make_mixed_schema, make_schema
from dynamo_webhooks.cli.commands.schema.outputs import load, names
from dynamo_webhooks.policies.catalogue import list_all
from dynamo_webhooks.policies.facts import Facts, FactsError, facts_from
from tests.certs.states import NOW, state
from tests.cli.check.reports.official import complaints, ours
from tests.cli.conftest import Command
from tests.golden.upstream import CONVERTED, accepted, manifests
from tests.laws.laws import version_of
from tests.laws.managers.subjects import GRAPH
from tests.rows import run_each


def upstream(version: str) -> list[Any]:
    """The first of upstream's graphs in a version, of those that an API server takes."""
    graphs = (graph for _, graph in manifests({GRAPH}, CONVERTED) if version_of(graph) == version and accepted(graph))
    return list(islice(graphs, 4))


@pytest.mark.parametrize("word", ["DynamoGraphDeployment", "dgd", "dynamographdeployments", "DynamoGraphDeployment.v1beta1"])
def test_a_kind_is_the_newest_version(command: Command, word: str) -> None:
    ran = command("schema", word)
    assert (ran.code, ran.json) == (0, make_schema("DynamoGraphDeployment", "v1beta1"))


def test_a_version_can_be_chosen(command: Command) -> None:
    ran = command("schema", "dgd", "--version", "v1alpha1")
    for word in ("dgd.v1alpha1", "dynamographdeployments.v1alpha1.nvidia.com", "DynamoGraphDeployment/v1alpha1"):
        assert command("schema", word).out == ran.out
    assert ran.json == make_schema("DynamoGraphDeployment", "v1alpha1") == command("schema", "DynamoGraphDeployment.v1alpha1").json
    assert command("schema", "all").json == make_mixed_schema()
    assert command("schema", "rules").json == load("rules")


def test_without_a_name_all_names_are_printed_and_each_can_be_printed(command: Command) -> None:
    listed = command("schema").out.split()
    assert listed == ["all", *(f"{kind}.{version}" for kind, version in list_kind_versions()), *names()]
    assert [command("schema", name).code for name in listed] == [0] * len(listed)


def test_a_catalogue_has_a_file_for_each_kind_where_other_tools_look_for_it(command: Command, tmp_path: Path) -> None:
    ran = command("schema", "--catalogue", tmp_path / "new")
    assert (ran.code, ran.out, ran.err) == (0, "", f"{len(list_kind_versions())} schemas in {tmp_path / 'new'}\n")
    written = {str(file.relative_to(tmp_path / "new")): file for file in tmp_path.rglob("*.json")}
    assert set(written) == {f"nvidia.com/{kind.lower()}_{version}.json" for kind, version in list_kind_versions()}
    documents = [*upstream(ALPHA), *upstream(BETA)]
    assert len(documents) == 8
    for document in documents:
        file = written[f"nvidia.com/{document['kind'].lower()}_{version_of(document)}.json"]
        check = jsonschema_rs.Draft7Validator(json.loads(file.read_text()))
        assert [error.message for error in check.iter_errors(document)] == []
        assert not check.is_valid({**document, "spec": {**document["spec"], "unknown": 1}})


def test_a_catalogue_is_of_the_line(command: Command, tmp_path: Path) -> None:
    assert command("schema", "--catalogue", tmp_path, "--line", "1.2").code == 0
    assert (tmp_path / "nvidia.com" / "dynamographdeployment_v1beta1.json").read_text() == command("schema", "dgd", "--line", "1.2").out


def test_a_folder_that_can_not_be_made_is_wrong_usage(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = command("schema", "--catalogue", tmp_path / "file" / "below")
    assert (ran.code, "can't be written: Not a directory" in ran.err) == (2, True)
    assert "must be a folder, and is a file" in command("schema", "--catalogue", tmp_path / "file").err


@pytest.mark.parametrize("words", [("rules", "-o", "json"), ("version",), ("config", "-o", "json")], ids=lambda words: words[0])
def test_what_is_printed_is_as_its_schema_says(command: Command, words: tuple[str, ...]) -> None:
    assert complaints(ours(words[0]), command(*words).json) == []


def test_pages_are_as_their_schema_says(command: Command) -> None:
    messages = ("connection refused", "at most one component must be of type epp")
    paths = ("spec.services.*.replicas", "spec.services.*.ingress.host", "dgdr.spec.backend")
    for word in (*(rule.name for rule in list_all()), *(kind.name for kind in KINDS), *paths, *messages, "grove"):
        assert complaints(ours("explain"), command("explain", word, "-o", "json").json) == [], word


def test_findings_of_the_doctor_and_certificates_are_as_their_schemas_say() -> None:
    report = as_data([error("trust", "Secret a/b", "is missing", "kubectl x"), info("scope", "n", "t")])
    assert complaints(ours("doctor"), json.loads(json.dumps(report))) == []
    for each in (state(), replace(state(), serving=None), replace(state(), endpoints=None)):
        description = json.loads(json.dumps(describe_cluster(RotationFacts(each, NOW, None, {}))))
        assert complaints(ours("certs"), description) == []
        assert {"mode", "phase", "objects", "endpoints"} <= set(description)


def test_a_schema_refuses_what_is_not_printed() -> None:
    for name, value in {
        "rules": [{"name": "x"}],
        "explain": [],
        "version": {},
        "config": {"values": [{}]},
        "doctor": {"findings": [{}]},
        "certs": {"ready": True, "reason": "", "certificate": {}, "authorities": []},
    }.items():
        assert not jsonschema_rs.Draft202012Validator(load(name)).is_valid(value)


@run_each("name", Facts._fields)
def test_the_schema_of_facts_takes_what_the_reader_takes(name: str) -> None:
    check = jsonschema_rs.Draft202012Validator(load("facts"))
    for value in (None, True, "cluster", "1.2", "1.2 ", "", 1, [], ["a"], [1], {}, {"t": ["zone"]}, {"t": "zone"}, {"t": [1]}):
        try:
            facts_from({name: value})
            taken = True
        except FactsError:
            taken = False
        assert check.is_valid({name: value}) == taken, value
    assert not check.is_valid({"groove": True})


def test_schemas_are_of_a_line(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def fields(*words: str) -> Any:
        return command("schema", "dcd", *words).json["properties"]["spec"]["properties"].keys()

    assert "minAvailable" in fields("--line", "1.5")
    assert "minAvailable" not in fields("--line", "1.2")
    assert fields() == fields("--line", DEFAULT_LINE)
    (tmp_path / ".dynamo-webhooks.yaml").write_text("line: '1.5'\n")
    assert fields() == fields("--line", "1.5")
    assert "minAvailable" in str(command("schema", "all").json)
    assert fields("--no-project") == fields("--line", DEFAULT_LINE)
