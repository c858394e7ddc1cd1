"""Completion and hover in expressions of policy files, however YAML writes them."""

import re
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from dynamo_webhooks.cel.cursor import find_symbol, find_unwritten_symbol
from dynamo_webhooks.cli.commands.lsp.answers import Completion, describe_at, list_completions
from dynamo_webhooks.cli.yaml.load import Source
from tests.cli.lsp.test_lsp import NEWEST_ASKED, Editor, editor
from tests.cli.userrules.samples import policy
from tests.rows import run_each

__all__ = ["editor"]  # a fixture

CURSOR: Final = "‸"
CONFIG_MAPS: Final = {"apiVersion": "v1", "kind": "ConfigMap"}
WHOLE: Final = policy("true", paramKind=CONFIG_MAPS, matchConditions=[], variables=[{"name": "few", "expression": "3"}])
HEAD: Final = re.sub(r"  validations:\n  - .*\n    .*\n", "", WHOLE)


def _place(text: str) -> tuple[str, int, int]:
    """A text without its cursor, and the cursor's line and column."""
    before, _, after = text.partition(CURSOR)
    return before + after, before.count("\n") + 1, len(before) - before.rfind("\n")


def _offered(text: str) -> dict[str, Completion]:
    written, line, column = _place(text)
    return {item.text: item for item in list_completions("p.yaml", written, NEWEST_ASKED, line, column)}


def _shown(text: str) -> str:
    written, line, column = _place(text)
    return describe_at("p.yaml", written, NEWEST_ASKED, line, column)


def _validation(value: str, key: str = "expression") -> str:
    return f"{HEAD}  validations:\n  - {key}: {value}\n"


@run_each(
    ("expression", "there", "not_there"),
    [
        ("object.spec.‸", "components", "replicas"),
        ("object.spec.com‸ponents", "components", "spec"),
        ("object.spec.components.‸", "exists", "components"),
        ("object.spec.components.all(c, c.‸)", "replicas", "components"),
        ("object.spec.components.all(c, c.‸", "replicas", "components"),
        ("object.spec.components.all(c, ‸", "c", "replicas"),
        ("object.spec.components.all(c, !has(c.‸) || c.replicas < 3)", "replicas", "components"),
        ("object.spec.?restart.‸", "strategy", "components"),
        ("oldObject.metadata.‸", "labels", "spec"),
        ("request.userInfo.‸", "groups", "operation"),
        ("namespaceObject.metadata.‸", "annotations", "components"),
        ("params.‸", "data", "spec"),
        ("params.data.‸", "exists", "indexOf"),
        ("variables.‸ < 3", "few", "object"),
        ("‸", "size", "contains"),
        ("true && ‸", "variables", "startsWith"),
        ("object.metadata.name.‸", "startsWith", "sum"),
        ("object.metadata.?labels[?'a'].‸", "orValue", "startsWith"),
        ("sets.‸", "contains", "size"),
        ("quantity('1').‸", "isLessThan", "family"),
    ],
)
def test_fields_and_functions_are_offered_by_the_types_of_what_is_before_them(expression: str, there: str, not_there: str) -> None:
    offered = _offered(_validation(f'"{expression}"'))
    assert (there in offered, not_there in offered) == (True, False), sorted(offered)


@run_each(
    "value",
    [
        "object.spec.‸",
        "'object.spec.‸'",
        "'has(object.metadata.labels[''a'']) && object.spec.‸'",
        '"\\"a\\" != object.spec.‸"',
        "|\n      has(object.spec) &&\n        object.spec.‸",
        ">-\n      has(object.spec) &&\n      object.spec.‸\n      != null",
        "has(object.spec) &&\n      object.spec.‸",
        "|- # a comment\n      object.spec.‸",
    ],
)
def test_an_expression_is_found_however_it_is_written(value: str) -> None:
    assert "backendFramework" in _offered(_validation(value))
    assert "backendFramework" in _offered(_validation(value, "message: a\n    messageExpression"))
    assert _shown(_validation(value.replace(CURSOR, f"backendFrame{CURSOR}work"))).startswith("`backendFramework`: string")


def test_braces_variables_conditions_and_annotations_have_expressions_too() -> None:
    head = f"{HEAD}  validations: []\n"
    assert "components" in _offered(f"{HEAD}  validations: [{{expression: object.spec.‸}}]\n")
    assert "components" in _offered(f"{head}  auditAnnotations: [{{key: a, valueExpression: object.spec.‸}}]\n")
    condition = HEAD.replace("matchConditions: []", "matchConditions:\n  - name: a\n    expression: ‸") + "  validations: []\n"
    offered = _offered(condition.replace("expression: ‸", "expression: o‸"))
    assert ("object" in offered, "variables" in offered) == (True, False)
    variables = HEAD.replace("expression: '3'", "expression: '3'\n  - name: more\n    expression: variables.‸") + "  validations: []\n"
    assert [*_offered(variables)] == ["few"]


@pytest.mark.parametrize(("minor", "offered"), [(30, False), (33, True), (0, True)])
def test_functions_are_those_of_the_oldest_kubernetes_that_takes_the_policy(minor: int, offered: bool) -> None:
    written, line, column = _place(_validation("object.spec.components.‸"))
    check = re.sub("kind: V.*", "kind: Check", written).replace("admissionregistration.k8s.io/v1", "dynamo-webhooks/v1")
    context = NEWEST_ASKED._replace(minor=minor)
    bound, unbound = ({item.text for item in list_completions("p.yaml", text, context, line, column)} for text in (written, check))
    assert ("first" in bound, "transformList" in bound, "all" in bound) == (offered, offered, True)
    assert "first" in unbound


def test_what_is_outside_of_expressions_is_offered_nothing() -> None:
    assert _offered(_validation("\"object.metadata.name != 'object.‸'\"")) == {}
    assert _offered(_validation("tr‸ue").replace("expression", "message")) == {}
    assert _offered(_validation("true").replace("validations", "valid‸ations")) == {}
    assert _shown(_validation("true").replace("expression", "exp‸ression")) == ""
    for odd in (
        "expression: obj‸ect",
        "spec: {expression: obj‸ect}",
        "spec: {variables: {a: {expression: obj‸ect}}}",
        "spec: [[{expression: ‸a}]]",
    ):
        text = f"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: nvidia.com}}\n{odd}\n"
        assert (_offered(text), _shown(text)) == ({}, "")


@run_each(
    ("expression", "wanted"),
    [
        ("object.spec.components.all(c, c.repl‸icas < 3)", r"`replicas`: int\n\n\w+"),
        ("object.spec.comp‸onents.size() > 1", r"`components`: list\(DynamoGraphDeployment.spec.components\)\n\n\w+"),
        ("obj‸ect.spec.components.size() > 1", r"`object`: DynamoGraphDeployment\n\nthe object with all defaults"),
        ("object.metadata.name.sp‸lit('-').size() > 1", r"```\nstring.split\(string\) -> list\(string\)\nstring.split\(string, int\)"),
        ("object.spec.components.a‸ll(c, true)", r"```\nlist\(A\).all\(a, bool\) -> bool\n```\n\Z"),
        ("sets.con‸tains([1], [1])", r"```\nsets.contains\(list\(A\), list\(A\)\) -> bool\n```"),
        ("size‸(object.metadata.name) > 1", r"```\nsize\(bytes\) -> int"),
        ("request.user‸Info.username == ''", r"`userInfo`: kubernetes.UserInfo\n\Z"),
        ("object.spec.noth‸ing == 1", r"\Z"),
        ("1 + ‸ 1 == 2", r"\Z"),
        ("object.spec. ===‸", r"\Z"),
    ],
)
def test_a_field_and_a_function_are_explained(expression: str, wanted: str) -> None:
    assert re.match(wanted, _shown(_validation(f'"{expression}"')))


def test_a_policy_about_several_kinds_is_offered_the_fields_of_each() -> None:
    text = _validation("object.spec.‸").replace("- dynamographdeployments", "- '*'").replace("- v1beta1", "- '*'")
    offered = _offered(text)
    assert {"components", "services", "modelName", "baseModelName"} <= offered.keys()
    assert _shown(text.replace(CURSOR, f"model{CURSOR}Name == ''")).startswith("`modelName`: string")


PIECES: Final = st.sampled_from(
    ["object", ".", "spec", "(", ")", "[", "'", '"', "\\", "all(c, ", "c", " ", "&&", "?", "?.", "\n", "é", "1"]
)


@given(st.lists(PIECES, max_size=12).map("".join), st.integers(0, 40))
def test_no_expression_and_no_place_raises(text: str, at: int) -> None:
    for find in (find_unwritten_symbol, find_symbol):
        find(text, min(at, len(text)), {})
    source = Source("p.yaml", _validation(text))
    for column in range(1, len(source.lines[-2]) + 2):
        list_completions("p.yaml", source.text, NEWEST_ASKED, len(source.lines) - 1, column)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_editor_gets_both(editor: Editor) -> None:
    text = policy("object.spec.components.all(c, c.replicas < 3)")
    await editor.show(text)
    line = next(number for number, row in enumerate(text.split("\n")) if "c.replicas" in row)
    column = text.split("\n")[line].index("c.replicas") + 2
    which: Any = types.TextDocumentIdentifier(editor.uri)
    completions: Any = await editor.client.text_document_completion_async(types.CompletionParams(which, types.Position(line, column)))
    [item] = [completion for completion in completions if completion.label == "replicas"]
    assert (item.kind, item.detail) == (types.CompletionItemKind.Field, "int")
    shown: Any = await editor.client.text_document_hover_async(types.HoverParams(which, types.Position(line, column)))
    assert shown.contents.value.startswith("`replicas`: int")
