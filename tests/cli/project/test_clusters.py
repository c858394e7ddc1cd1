"""Clusters of one repository: each file is judged by the facts, the line and the namespace of the cluster that it is for.

The address of the documentation (`site`, and `serving.site` of a server): who names the page of a rule, and who does not.
"""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from pygls.workspace import TextDocument

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.api.operator.judge import validate_configuration
from dynamo_webhooks.cli.commands.lsp.answers import Asked, find_problems
from dynamo_webhooks.cli.commands.lsp.server import Text, _diagnostics
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import find_route
from tests.cli.clusters import cluster
from tests.cli.conftest import Command, Files, write_program
from tests.cli.lsp.test_lsp import ASKED
from tests.cli.project.test_project import project
from tests.cli.repository import Repository
from tests.cli.samples import BAD, BAD_RULE, BARE, NEEDS_GROVE

GROVE_RULE = "priority-class-requires-grove"
UNPLACED = NEEDS_GROVE.replace(", namespace: llm", "")
CLUSTERS = """\
clusters:
  dev:
    paths: [deploy/dev]
    facts: facts/dev.yaml
    namespace: llm-dev
  prod:
    paths: [deploy/prod-*, prod.yaml]
    facts: facts/prod.yaml
    namespace: llm
"""


@pytest.fixture
def repository(files: Files) -> Path:
    """One graph for two clusters, of which only prod has Grove, and for none."""
    folder = files(
        deploy__dev__graph=UNPLACED,
        **{"deploy__prod-eu__graph": UNPLACED, "deploy__prod-us__graph": UNPLACED.replace("name: graph", "name: us")},
        deploy__graph=UNPLACED,
        prod=UNPLACED.replace("name: graph", "name: other"),
        facts__dev="{grove: false, operatorVersion: 1.2.0}\n",
        facts__prod="{grove: true, operatorVersion: 1.5.0}\n",
    )
    (folder / ".git").mkdir()
    project(folder, CLUSTERS)
    return folder


def test_each_file_is_judged_by_the_facts_of_its_cluster(repository: Path, command: Command) -> None:
    ran = command("check", "deploy", "prod.yaml", "-o", "json", "--answer")
    assert [(row["file"], row["rule"]) for row in ran.json["findings"]] == [("deploy/dev/graph.yaml", GROVE_RULE)]
    assert [row["file"] for row in ran.json["notEvaluated"]] == ["deploy/graph.yaml"]
    assert [row["object"]["namespace"] for row in ran.json["answers"]] == ["llm-dev", "", "llm", "llm", "llm"]
    assert ran.json["summary"]["operatorLines"] == [
        {"line": "1.2", "from": "cluster dev"},
        {"line": "1.5", "from": "cluster prod"},
        {"line": "1.6", "from": "the default"},
    ]
    assert "operatorLine" not in ran.json["summary"]
    told = command("check", "deploy").err.splitlines()[-1]
    lines = "operator 1.2 (cluster dev) and operator 1.5 (cluster prod) and operator 1.6 (the default; --line names another)"
    assert told.startswith(f"4 objects checked for {lines}: 1 error")
    assert command("check", "deploy/prod-eu").err == "1 object checked for operator 1.5 (cluster prod): nothing found\n"


@pytest.mark.parametrize("words", [(), ("--require-facts",), ("--no-defaults",)])
def test_it_holds_from_any_folder_and_for_links(
    repository: Path, command: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(repository / "deploy" / "dev")
    assert command("check", "graph.yaml", *words).code == 1
    assert command("check", "../prod-eu", *words).code == 0
    (repository / "other").symlink_to("deploy/dev")
    assert command("check", repository / "other" / "graph.yaml", *words).code == 1


def test_flags_win_and_a_cluster_can_be_chosen(repository: Path, command: Command) -> None:
    assert command("check", "deploy/dev", "--set-fact", "grove=true").code == 0
    assert command("check", "deploy/dev", "--facts", "facts/prod.yaml").code == 0
    assert command("check", "deploy/dev", "--facts-of", "prod").code == 0
    assert command("check", "deploy/prod-eu", "--facts-of", "dev").code == 1
    assert command("check", "deploy/dev", "--no-project").code == 0
    assert command("check", "deploy/dev", "--line", "1.5").err.startswith("1 object checked for operator 1.5 (--line): ")


def test_a_cluster_takes_its_line_from_its_own_facts_before_the_project_s(repository: Path, command: Command) -> None:
    project(repository, "line: '1.2'\n" + CLUSTERS + "  bare: {paths: [deploy/graph.yaml]}\n")
    assert command("check", "deploy/prod-eu").err.startswith("1 object checked for operator 1.5 (cluster prod): ")
    assert command("check", "deploy/graph.yaml").err.startswith("1 object checked for operator 1.2 (cluster bare): ")
    project(repository, "line: '1.5'\n" + CLUSTERS.replace("facts: facts/prod.yaml", "line: 1.2"))
    assert command("check", "deploy/prod-eu").err.startswith("1 object checked for operator 1.2 (cluster prod): ")


def test_objects_for_two_clusters_are_no_duplicates(repository: Path, command: Command) -> None:
    for place in ("dev", "prod-eu", "prod-us"):
        (repository / "deploy" / place / "graph.yaml").write_text(NEEDS_GROVE)
    rules = [(row["file"], row["rule"]) for row in command("check", "deploy", "-o", "json").json["findings"]]
    assert rules == [("deploy/dev/graph.yaml", GROVE_RULE), ("deploy/prod-us/graph.yaml", "duplicate-object")]


def test_the_namespace_is_that_of_objects_that_name_none(repository: Path, command: Command) -> None:
    (repository / "facts" / "prod.yaml").write_text("{operatorScope: cluster, excludedNamespaces: [llm]}\n")
    (note,) = command("check", "deploy/prod-eu", "-o", "json").json["notEvaluated"]
    assert (note["rule"], note["object"]["namespace"]) == ("policies", "llm")
    rendered = command("render", "deploy", "-o", "json", "-q", "--only", "PodCliqueSet", "--only", "Deployment").json
    assert {one["metadata"]["namespace"] for one in rendered} == {"llm-dev", "llm", "default"}
    assert {one["metadata"]["namespace"] for one in command("render", "deploy", "-o", "json", "-q", "-n", "x").json} == {"x"}


def test_updates_find_stored_objects_that_name_no_namespace(repository: Path, command: Command) -> None:
    (repository / ".git").rmdir()
    Repository(repository).commit()
    (repository / "deploy" / "prod-eu" / "graph.yaml").write_text(UNPLACED.replace("high", "low"))
    ran = command("check", "deploy/prod-eu", "--against", "HEAD", "-o", "json", "--answer")
    assert [row["operation"] for row in ran.json["answers"]] == ["UPDATE"]


@pytest.mark.parametrize("namespace", ["llm", "default"])
def test_a_cluster_is_asked_for_the_object_in_the_namespace(repository: Path, command: Command, connected: Any, namespace: str) -> None:
    connected(cluster(NEEDS_GROVE.replace("namespace: llm", f"namespace: {namespace}")))
    ran = command("check", "deploy/prod-eu", "--cluster", "-o", "json", "--answer")
    assert [row["operation"] for row in ran.json["answers"]] == ["UPDATE" if namespace == "llm" else "CREATE"]
    changed = command("diff", "deploy/prod-eu", "--cluster").out
    assert ("only in" in changed) == (namespace != "llm")


def test_render_and_picture_render_each_file_for_its_cluster(repository: Path, command: Command) -> None:
    kinds = {file: {one["kind"] for one in command("render", f"deploy/{file}", "-o", "json").json} for file in ("dev", "prod-eu")}
    assert ("PodCliqueSet" in kinds["dev"], "PodCliqueSet" in kinds["prod-eu"]) == (False, True)
    assert {one["kind"] for one in command("render", "deploy", "-o", "json", "-q").json} >= kinds["dev"] | kinds["prod-eu"]
    assert "cluster prod: not known, so assumed: " in command("render", "deploy").err
    assert command("picture", "deploy", "-o", "svg").code == 0


def test_diff_and_default_judge_by_the_cluster(repository: Path, command: Command) -> None:
    changed = UNPLACED.replace("high", "higher")
    for place in ("dev", "prod-eu"):
        (repository / "new" / place).mkdir(parents=True)
        (repository / "new" / place / "graph.yaml").write_text(changed)
    project(repository, CLUSTERS.replace("deploy/dev", "new/dev").replace("deploy/prod-*", "new/prod-eu"))
    assert GROVE_RULE in command("diff", "deploy/dev", "new/dev").out
    assert GROVE_RULE not in command("diff", "deploy/prod-eu", "new/prod-eu").out
    dev, prod = (command("default", f"new/{place}").out for place in ("dev", "prod-eu"))
    assert ("1.2.0" in dev, "1.5.0" in prod, "1.5.0" in dev) == (True, True, False)


def test_convert_writes_what_the_line_of_the_cluster_has(repository: Path, command: Command) -> None:
    (repository / "deploy" / "dev" / "graph.yaml").write_text(BARE)
    (repository / "deploy" / "prod-eu" / "graph.yaml").write_text(BARE)
    project(repository, CLUSTERS.replace("    paths: [deploy/dev]", "    paths: [deploy/dev]\n    line: '1.2'"))
    whole = command("convert", "--to", "v1beta1", "deploy/dev", "deploy/prod-eu").out
    one = [
        command("convert", "--to", "v1beta1", f"deploy/{place}", "--no-project", "--line", line).out
        for place, line in (("dev", "1.2"), ("prod-eu", "1.5"))
    ]
    assert whole.replace("---\n", "") == "".join(one).replace("---\n", "")


def test_editors_are_served_by_the_cluster_of_each_text(repository: Path, served: list[Asked]) -> None:
    project(repository, f"{CLUSTERS}overrides: [{{paths: [deploy/dev], rules: {{unknown-field: {{severity: off, reason: x}}}}}}]\n")
    assert main(["lsp"]) == 0
    (asked,) = served
    odd = UNPLACED + "  nothing: 1\n"
    rules = {
        place: [one.rule for one in find_problems(str(repository / "deploy" / place / "graph.yaml"), odd, asked).findings]
        for place in ("dev", "prod-eu")
    }
    assert rules == {"dev": [GROVE_RULE], "prod-eu": ["unknown-field"]}
    (repository / "facts" / "prod.yaml").write_text("grov: true\n")
    assert main(["lsp"]) == 2


def test_what_holds_is_shown(repository: Path, command: Command) -> None:
    rows = [line.split() for line in command("check", "--show-config", "--facts-of", "dev").out.splitlines()]
    name = ".dynamo-webhooks.yaml"
    assert ["clusters.dev.paths[0]", "deploy/dev", f"{name}:3"] in rows
    assert ["clusters.prod.paths[0]", "deploy/prod-us", f"{name}:7"] in rows
    assert ["clusters.prod.namespace", "llm", f"{name}:6"] in rows
    assert ["clusters", "dev", "flag", "--facts-of"] in rows


def test_facts_that_cannot_be_used_name_the_key_that_gave_them(repository: Path, command: Command) -> None:
    (repository / "facts" / "prod.yaml").write_text("grov: true\n")
    assert command("check", "deploy/dev").code == 1
    begin = "dynamo-webhooks check: .dynamo-webhooks.yaml:"
    assert command("check", "deploy").err.startswith(f"{begin}6: clusters.prod.facts: facts/prod.yaml: ")
    project(repository, "\nfacts: facts/prod.yaml\n")
    assert command("check", "deploy").err.startswith(f"{begin}2: facts: facts/prod.yaml: ")
    (repository / "facts" / "prod.yaml").unlink()
    assert command("check", "deploy").err == f"{begin}2: facts: facts/prod.yaml: does not exist\n"


@pytest.mark.parametrize(
    ("text", "word", "told"),
    [
        (CLUSTERS, "prd", "--facts-of prd: .dynamo-webhooks.yaml:1: clusters has no such cluster; did you mean prod?"),
        (CLUSTERS, "stage", "--facts-of stage: .dynamo-webhooks.yaml:1: clusters has no such cluster; known: dev, prod"),
        ("{}\n", "prod", "--facts-of prod: there are no clusters in .dynamo-webhooks.yaml"),
    ],
)
def test_an_unknown_cluster_is_one_sentence(repository: Path, command: Command, text: str, word: str, told: str) -> None:
    project(repository, text)
    for name, *more in (("check",), ("render",), ("default",), ("convert", "--to", "v1beta1")):
        assert command(name, "deploy/dev", "--facts-of", word, *more).err == f"dynamo-webhooks {name}: {told}\n"
    assert command("check", "deploy/dev", "--facts-of", word, "--facts", "facts/dev.yaml").code == 2


def test_the_result_of_a_kustomization_is_for_the_cluster_of_its_folder(
    repository: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "bin").mkdir()
    write_program(repository / "bin", "kustomize", 'cat "$2/graph.yaml"')
    monkeypatch.setenv("PATH", f"{repository / 'bin'}:/usr/bin:/bin")
    for place in ("dev", "prod-eu"):
        (repository / "deploy" / place / "kustomization.yaml").write_text("resources: [graph.yaml]\n")
    found = command("check", "-k", "deploy/dev", "-k", "deploy/prod-eu", "-o", "json").json["findings"]
    assert [(row["file"], row["rule"]) for row in found] == [("kustomize:deploy/dev", GROVE_RULE)]


def test_a_page_shows_the_graphs_of_all_clusters_and_takes_the_place_of_no_facts(repository: Path, command: Command) -> None:
    assert command("check", "deploy", "-o", "text=facts/prod.yaml").code == 2
    assert (repository / "facts" / "prod.yaml").read_text().startswith("{grove")
    assert command("check", "deploy", "-o", "html=report.html").code == 1
    assert (repository / "report.html").read_text().count("data:image/svg") == 4


SITE = "https://docs.example.org/dynamo"
PAGE = f"{SITE}/rules/{BAD_RULE}/"


@pytest.mark.parametrize("slash", ["", "/"])
def test_reports_and_explain_name_the_page_of_a_rule(command: Command, files: Files, slash: str) -> None:
    folder = files(bad=BAD)
    (folder / ".dynamo-webhooks.yaml").write_text(f"site: {SITE}{slash}\n")
    (rule,) = json.loads(command("check", "bad.yaml", "-o", "sarif").out)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["helpUri"] == PAGE
    assert f'<a href="{PAGE}">' in command("check", "bad.yaml", "-o", "html").out
    assert f"**Page.** {PAGE}\n" in command("explain", BAD_RULE).out
    assert command("explain", f"spec: refused [{BAD_RULE}]", "-o", "json").json[0]["address"] == PAGE
    assert SITE in command("check", "--show-config").out
    assert "**Page.**" not in command("explain", BAD_RULE, "--no-project").out
    assert "helpUri" not in command("check", "bad.yaml", "-o", "sarif", "--no-project").out
    assert "/rules/" not in command("check", "bad.yaml", "-o", "html", "--no-project").out


@pytest.mark.parametrize("value", ["docs.example.org", "javascript:alert(1)", "[https://a]", "'https://a b'", "'https://a\"onclick'"])
def test_another_value_than_an_address_is_refused(command: Command, files: Files, value: str) -> None:
    folder = files(bad=BAD)
    (folder / ".dynamo-webhooks.yaml").write_text(f"site: {value}\n")
    ran = command("check", "bad.yaml")
    assert ran.code == 2
    assert ".dynamo-webhooks.yaml:1: site: must be a URL such as https://docs.example.org/, got " in ran.err


def _refused(site: str) -> dict[str, object]:
    obj = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g"}, "spec": {"components": []}}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "operation": "CREATE", "object": obj}}
    route = find_route("/validate-nvidia-com-v1beta1-dynamographdeployment")
    assert route is not None
    status: dict[str, object] = orjson.loads(answer(route, orjson.dumps(review), Settings(site=site)).body)["response"]["status"]
    return status


def test_causes_of_a_refusal_name_the_page_and_the_message_stays_as_it_is() -> None:
    plain, linked = _refused(""), _refused(SITE)
    assert plain["message"] == linked["message"]
    causes = [status["details"]["causes"][0]["message"] for status in (plain, linked)]  # type: ignore[index]
    assert causes[1] == f"{causes[0]} {SITE}/rules/dgd-services-required/"


def test_the_configuration_takes_an_address() -> None:
    configuration, problems = validate_configuration({"serving": {"site": SITE}}, complete=False)
    assert (configuration.serving.site, problems) == (SITE, [])
    assert [problem.path for problem in validate_configuration({"serving": {"site": "docs"}}, complete=False)[1]] == [("serving", "site")]


@pytest.mark.parametrize(("site", "shown"), [("", None), (SITE, PAGE)])
def test_the_rule_of_a_finding_leads_an_editor_to_its_page(site: str, shown: str | None) -> None:
    found = _diagnostics(Text(TextDocument("file:///bad.yaml", BAD)), ASKED._replace(site=site), frozenset())
    assert [one.code_description and one.code_description.href for one in found if one.code == BAD_RULE] == [shown]
