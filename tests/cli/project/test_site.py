"""The address of the documentation (`site`, and `serving.site` of a server): who names the page of a rule, and who does not."""

import json
from typing import Any

import orjson
import pytest
from pygls.workspace import TextDocument

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.api.operator.judge import validate_configuration
from dynamo_webhooks.cli.commands.lsp.server import EditorText, _diagnostics
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import find_route
from tests.cli.conftest import Command, Files
from tests.cli.lsp.test_lsp import ASKED
from tests.cli.samples import BAD, BAD_RULE

SITE = "https://docs.example.org/dynamo"
PAGE = f"{SITE}/rules/{BAD_RULE}/"


@pytest.mark.parametrize("slash", ["", "/"])
def test_reports_and_explain_name_the_page_of_a_rule(command: Command, files: Files, slash: str) -> None:
    folder = files(bad=BAD)
    (folder / ".dynamo-webhooks.yaml").write_text(f"site: {SITE}{slash}\n")
    (rule,) = json.loads(command("check", "bad.yaml", "-o", "sarif").out)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["helpUri"] == PAGE
    assert f"**Page.** {PAGE}\n" in command("explain", BAD_RULE).out
    assert command("explain", f"spec: refused [{BAD_RULE}]", "-o", "json").json[0]["address"] == PAGE
    assert SITE in command("check", "--show-config").out
    assert "**Page.**" not in command("explain", BAD_RULE, "--no-project").out
    assert "helpUri" not in command("check", "bad.yaml", "-o", "sarif", "--no-project").out


@pytest.mark.parametrize("value", ["docs.example.org", "javascript:alert(1)", "[https://a]", "'https://a b'", "'https://a\"onclick'"])
def test_another_value_than_an_address_is_refused(command: Command, files: Files, value: str) -> None:
    folder = files(bad=BAD)
    (folder / ".dynamo-webhooks.yaml").write_text(f"site: {value}\n")
    ran = command("check", "bad.yaml")
    assert ran.code == 2
    assert ".dynamo-webhooks.yaml:1: site: must be a URL such as https://docs.example.org/, got " in ran.err


def _refused(site: str) -> dict[str, Any]:
    obj = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g"}, "spec": {"components": []}}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "operation": "CREATE", "object": obj}}
    route = find_route("/validate-nvidia-com-v1beta1-dynamographdeployment")
    assert route is not None
    status: dict[str, Any] = orjson.loads(answer(route, orjson.dumps(review), Settings(site=site)).body)["response"]["status"]
    return status


def test_causes_of_a_refusal_name_the_page_and_the_message_stays_as_it_is() -> None:
    plain, linked = _refused(""), _refused(SITE)
    assert plain["message"] == linked["message"]
    causes = [status["details"]["causes"][0]["message"] for status in (plain, linked)]
    assert causes[1] == f"{causes[0]} {SITE}/rules/dgd-services-required/"


def test_the_configuration_takes_an_address() -> None:
    configuration, problems = validate_configuration({"serving": {"site": SITE}}, complete=False)
    assert (configuration.serving.site, problems) == (SITE, [])
    assert [problem.path for problem in validate_configuration({"serving": {"site": "docs"}}, complete=False)[1]] == [("serving", "site")]


@pytest.mark.parametrize(("site", "shown"), [("", None), (SITE, PAGE)])
def test_the_rule_of_a_finding_leads_an_editor_to_its_page(site: str, shown: str | None) -> None:
    marks = _diagnostics(EditorText(TextDocument("file:///bad.yaml", BAD)), ASKED._replace(site=site), frozenset())
    assert [mark.code_description and mark.code_description.href for mark in marks if mark.code == BAD_RULE] == [shown]
