"""The lines of the operator by which a run of `check` judges, what told them, and what `--upgrade-to` finds on the way."""

from pathlib import Path

import pytest

from dynamo_webhooks.api.line import DEFAULT_LINE, Line
from dynamo_webhooks.api.operator.configuration import OperatorConfiguration
from dynamo_webhooks.cli.commands import serve
from dynamo_webhooks.cli.objects.cluster_snapshot import ClusterSnapshot
from dynamo_webhooks.policies.facts import facts_from
from tests.cli.conftest import Command, Files
from tests.cli.samples import GOOD, IMAGE, MAIN, graph, manifest
from tests.rows import run_each


@run_each(
    ("words", "line", "source"),
    [
        ([], "1.6", "the default"),
        (["--line", "1.2"], "1.2", "--line"),
        (["--line", "1.5"], "1.5", "--line"),
        (["--set-fact", "operatorVersion=1.5.1"], "1.5", "operatorVersion 1.5.1"),
        (["--set-fact", "operatorVersion=v1.3.1"], "1.3", "operatorVersion v1.3.1; rules of operator 1.2, the nearest known release"),
        (["--line", "1.4"], "1.4", "--line; rules of operator 1.5, the nearest known release"),
        (
            ["--set-fact", "operatorVersion=1.30.0"],
            "1.7",
            "operatorVersion 1.30.0; later releases count as the newest known",
        ),
        (["--set-fact", "operatorVersion=1.7.0"], "1.7", "operatorVersion 1.7.0"),
        (["--set-fact", "operatorLine=1.5"], "1.5", "the fact operatorLine"),
        (["--set-fact", "operatorVersion=1.2.0", "--line", "1.5"], "1.5", "--line"),
    ],
)
def test_the_line_is_said_with_what_told_it(words: list[str], line: str, source: str, files: Files, command: Command) -> None:
    files(good=GOOD)
    other = "" if words else "; --line names another"
    assert command("check", "good.yaml", *words).err == f"1 object checked for operator {line} ({source}{other}): nothing found\n"
    summary = command("check", "good.yaml", "-o", "json", *words).json["summary"]
    assert (summary["operatorLine"], summary["operatorLineFrom"]) == (line, source)


@pytest.mark.parametrize("written", ["1.5", "'1.5'"])
def test_a_project_file_says_the_line_and_flags_win(written: str, files: Files, command: Command) -> None:
    folder: Path = files(good=GOOD)
    (folder / ".dynamo-webhooks.yaml").write_text(f"line: {written}\n")
    assert "for operator 1.5 (the project file)" in command("check", "good.yaml").err
    assert "for operator 1.2 (--line)" in command("check", "good.yaml", "--line", "1.2").err
    assert "for operator 1.6 (the default; --line names another)" in command("check", "good.yaml", "--no-project").err
    (folder / ".dynamo-webhooks.yaml").write_text("line: 1.9\n")
    assert f'line: must be one of {", ".join(Line)}, got "1.9"' in command("check", "good.yaml").err


def test_a_server_without_a_line_has_that_of_files(tmp_path: Path) -> None:
    (tmp_path / "facts.yaml").write_text("{grove: true, operatorVersion: null}\n")
    (tmp_path / "told.yaml").write_text("{operatorVersion: 1.2.0}\n")
    lines = []
    for name in ("facts.yaml", "told.yaml"):
        options = serve.Options(no_cluster=True, facts=str(tmp_path / name))
        lines.append(facts_from(serve._read_stated_facts(options, OperatorConfiguration())).line)
    assert [*lines, facts_from({}).line] == [DEFAULT_LINE, Line.V1_2, DEFAULT_LINE]


def test_a_version_that_somebody_says_goes_before_the_clusters_definitions() -> None:
    snapshot = ClusterSnapshot([], {"operatorLine": "1.5"})
    assert snapshot.fill(facts_from({})).line == "1.5"
    assert snapshot.fill(facts_from({"operatorVersion": "1.2.0"})).line == "1.2"


_FRONT = f"name: front, type: frontend, replicas: -1, multinode: {{nodeCount: 2}}, {MAIN}"
_WORKER = f"name: w, type: worker, multinode: {{nodeCount: 2}}, roles: [{{name: leader, replicas: 0}}, {{name: worker}}], {MAIN}"
_LATER = graph(_FRONT, _WORKER)


def test_a_finding_names_the_line_that_it_begins_with(files: Files, command: Command) -> None:
    """The line of its rule, of its field, or of the schema's own rule; what every line finds names none."""
    old = graph(f"name: front, type: frontend, {MAIN}", _WORKER.replace("type: worker", "type: decode"))
    files(later=_LATER, old=old)
    words = ("check", "later.yaml", "--old", "old.yaml", "--set-fact", "grove=true")
    rows = {(finding["path"], finding.get("since", "")) for finding in command(*words, "-o", "json").json["findings"]}
    assert rows >= {
        ("spec.components[0].multinode", "1.6"),
        ("spec.components[1].roles[0].replicas", "1.6"),
        ("spec.components[1]", "1.5"),
        ("spec.components[0].replicas", ""),
    }
    for more in ((), ("-q",), ("-o", "github"), ("-o", "markdown")):
        assert "[since operator 1.6]" in command(*words, *more).out
    assert "[since operator 1.6]" not in command(*words, "--line", "1.5").out


def test_a_field_of_the_later_line_is_no_slip_of_the_pen_on_the_earlier_one(files: Files, command: Command) -> None:
    files(later=_LATER.replace("replicas: -1", "minAvailable: 1, minAvailabel: 1"))
    findings = command("check", "later.yaml", "--line", "1.2", "-o", "json").json["findings"]
    assert [(finding["message"], finding["fix"]) for finding in findings if "spec.components[0].minAvail" in finding["path"]] == [
        ("is a field of operator 1.3, not of 1.2", "remove the field, or use --line 1.3 if your operator is newer"),
        ("is not a field of this kind", "Remove the field, or correct its name"),
    ]


GRAPH = graph(
    f"name: picker, type: epp, eppConfig: {{configMapRef: {{name: c, key: k}}}}, {MAIN}",
    f"name: front, type: frontend, multinode: {{nodeCount: 2}}, {MAIN.replace('1.5.0', 'latest')}",
)
POD = 'podTemplateSpec: {spec: {containers: [{name: main, image: "x/y:1.5.0"}]}}'
CHECKPOINT = manifest("DynamoCheckpoint", "v1alpha1", f"{{identity: {{model: m, backendFramework: vllm}}, job: {{{POD}}}}}")
FACTS = ("--set-fact", "grove=true", "--set-fact", "inferencePool=true", "--set-fact", "checkpoint=true")


_WARM = "checkpoint: {enabled: true, checkpointRef: warm}"
_ALPHA = f"{{services: {{w: {{componentType: worker, {IMAGE}, {_WARM}}}}}}}"


@run_each(
    ("text", "place"),
    [
        (graph(f"name: w, type: worker, experimental: {{{_WARM}}}, {MAIN}"), "spec.components[0].experimental.checkpoint.checkpointRef"),
        (manifest("DynamoGraphDeployment", "v1alpha1", _ALPHA), "spec.services[w].checkpoint.checkpointRef"),
    ],
)
def test_references_to_checkpoints_are_told_on_the_way_to_1_5_alone(files: Files, command: Command, text: str, place: str) -> None:
    files(a=text)
    facts = ("--set-fact", "checkpoint=true")
    for line, upgrade, wanted in (("1.4", "1.6", [place]), ("1.2", "1.4", []), ("1.5", "1.6", [])):
        done = command("check", "a.yaml", "--line", line, "--upgrade-to", upgrade, *facts, "-o", "json")
        rows = [row for row in done.json["findings"] if row["rule"] == "checkpoint-ref-other-kind"]
        assert [row["path"] for row in rows] == wanted, (line, done.out)
        assert all(
            row["message"].startswith('since operator 1.5: names a PodSnapshot, no longer the DynamoCheckpoint "warm"') for row in rows
        )


def test_each_line_on_the_way_says_what_it_finds_first(files: Files, command: Command) -> None:
    files(a=GRAPH, b=CHECKPOINT)
    done = command("check", ".", "--line", "1.2", "--upgrade-to", "1.6", *FACTS, "-o", "json")
    rows = [(finding["rule"], finding["message"].partition(":")[0], bool(finding["fix"])) for finding in done.json["findings"]]
    assert rows == [
        ("epp-runtime-config-forbidden", "since operator 1.5", True),
        ("runtime-version-required", "since operator 1.5", True),
        ("ckpt-kind-gone", "since operator 1.5", True),
        ("multinode-type-unsupported", "since operator 1.6", True),
    ]
    assert done.code == 1
    assert command("check", ".", "--line", "1.2", *FACTS).code == 0
    findings = command("check", "a.yaml", "--line", "1.5", "--upgrade-to", "1.6", *FACTS, "-o", "json").json["findings"]
    assert [(finding["rule"], finding["message"].startswith("since operator 1.6: ")) for finding in findings] == [
        ("epp-runtime-config-forbidden", False),
        ("runtime-version-required", False),
        ("multinode-type-unsupported", True),
    ]


REQUEST = "DynamoGraphDeploymentRequest"
OF_1_7 = "---\n".join(
    [
        manifest(REQUEST, "v1beta2", "{modelRef: {name: m, later: 1}, backends: [auto], later: 1}", "a"),
        manifest("DynamoGraphDeploymentRun", "v1beta2", "{later: 1}", "b"),
        manifest("DynamoGraphDeploymentCandidate", "v1beta2", "{components: [{name: w, later: 1}]}", "c"),
        manifest(REQUEST, "v1beta1", "{v1beta2: {modelRef: {name: m}}}", "d"),
    ]
)


def test_kinds_and_versions_of_operator_1_7_are_checked_by_their_schemas_alone(files: Files, command: Command) -> None:
    """What its definition may accept is only warned of, and what it keeps is no finding."""
    files(a=OF_1_7)

    def found(line: str) -> list[tuple[str, str, str, str]]:
        done = command("check", "a.yaml", "--line", line, "--set-fact", "operatorScope=cluster", "-o", "json")
        return [(finding["object"]["name"], finding["level"], finding["rule"], finding["path"]) for finding in done.json["findings"]]

    assert found("1.7") == [  # E10, E18, E26
        ("a", "warning", "schema-mismatch", "spec.backends[0]"),
        ("d", "error", "request-owner", "spec.v1beta2"),
    ]
    assert [row for row in found("1.6") if row[2] == "unknown-kind"] == [
        ("a", "error", "unknown-kind", "apiVersion"),
        ("b", "error", "unknown-kind", "kind"),
        ("c", "error", "unknown-kind", "kind"),
    ]


SAME = manifest(REQUEST, "v1beta1", '{model: m, backend: vllm, image: "example/planner:1.7.0"}\nstatus: {phase: Profiling}')
HELD = SAME.replace("namespace: llm", 'namespace: llm, uid: u, resourceVersion: "3"')
APPLIED = '{model: m, backend: vllm, profilingConfig: {profilerImage: "example/planner:1.7.0"}, autoApply: %s}'


@pytest.mark.parametrize(("applied", "rules"), [("true", []), ("false", ["dgdr-spec-locked"])])
def test_a_live_request_that_lost_its_defaults_is_one_that_applies(files: Files, command: Command, applied: str, rules: list[str]) -> None:
    """On operator 1.7 an update can remove them; nothing of it is lost, and a file of v1alpha1 that says the same changes nothing."""
    files(held=HELD, applied=manifest(REQUEST, "v1alpha1", APPLIED % applied), same=SAME)
    words = ("--line", "1.7", "--set-fact", "operatorScope=cluster", "-o", "json")
    assert command("check", "held.yaml", *words).json["findings"] == []
    assert command("check", "same.yaml", "--old", "held.yaml", *words).json["findings"] == []
    findings = command("check", "applied.yaml", "--old", "held.yaml", *words).json["findings"]
    assert [finding["rule"] for finding in findings] == rules


def test_an_upgrade_goes_through_every_release(files: Files, command: Command) -> None:
    files(good=GOOD)
    ran = command("check", "good.yaml", "--line", "1.5", "--upgrade-to", "1.7")
    assert "operator 1.7 (--upgrade-to; upgrade from operator 1.5 to 1.6, then to 1.7: no release may be left out)" in ran.err
    assert "left out" not in command("check", "good.yaml", "--line", "1.6", "--upgrade-to", "1.7").err
