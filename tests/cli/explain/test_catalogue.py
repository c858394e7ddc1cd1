"""`explain`, `rules` and `version`: what they print is the rules' own documentation."""

import io

import pytest

from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion import engine
from dynamo_webhooks.policies.catalogue import list_all, list_declared
from tests.cli.conftest import Command
from tests.cli.samples import BAD_RULE
from tests.rows import run_each


@pytest.mark.parametrize("output", ["markdown", "json"])
def test_every_rule_can_be_explained_by_name_and_code(command: Command, output: str) -> None:
    for rule in list_all():
        ran = command("explain", rule.name, "-o", output, "--examples")
        assert ran.code == 0
        assert (rule.name in ran.out, rule.code in ran.out) == (True, True)
        assert command("explain", rule.code, "-o", output, "--examples").out == ran.out


def test_a_difference_from_1_2_is_told(command: Command) -> None:
    rule = next(rule for rule in list_declared() if rule.difference)
    assert rule.difference
    sentence = f"The Go operator 1.2 decides differently; the reason for this rule: {rule.difference.because}.\n"
    assert sentence in command("explain", rule.name).out


def test_a_pasted_message_is_explained_by_the_rules_in_it(command: Command) -> None:
    message = (
        'admission webhook "vdynamographdeployment.kb.io" denied the request: DynamoGraphDeployment.nvidia.com "g" is invalid: '
        f"spec.services[a-b].ingress.host: must be [1] [{BAD_RULE}]; spec.services: x [dgd-services-required]; again [{BAD_RULE}]"
    )
    assert [page["rule"] for page in command("explain", message, "-o", "json").json] == [BAD_RULE, "dgd-services-required"]
    assert command("explain", *message.split(), "-o", "json").code == 0


@pytest.mark.parametrize("word", ["DynamoModel", "dynamomodels", "dm", "MODEL", "dynamomodels.nvidia.com"])
def test_a_kind_lists_its_versions_and_rules(command: Command, word: str) -> None:
    (page,) = command("explain", word, "-o", "json").json
    stored = {"name": "v1alpha1", "stored": True, "storedOn": [*Line], "deprecated": False}
    assert (page["kind"], page["versions"]) == ("DynamoModel", [stored])
    assert "model-name-required" in [rule["rule"] for rule in page["rules"]]
    assert "- `model-name-required` (DYN551): " in command("explain", word).out


@pytest.mark.parametrize(
    ("word", "versions"),
    [
        ("dm", "v1alpha1 (stored). "),
        ("dgd", "v1alpha1 (stored by operator 1.2 to 1.4), v1beta1 (stored by operator 1.5 to 1.7). "),
        ("dgdr", "v1alpha1, v1beta1 (stored), v1beta2. "),
    ],
)
def test_a_kind_says_which_version_each_line_stores(command: Command, word: str, versions: str) -> None:
    assert f"Versions of `nvidia.com`: {versions}" in command("explain", word).out


@run_each(
    ("word", "kinds", "path", "rule"),
    [
        ("spec.services.*.failover", ["DynamoGraphDeployment/v1alpha1"], "spec.services.*.failover", "failover-intrapod-mode-mismatch"),
        (
            "dgd.spec.services[w].failover.mode",
            ["DynamoGraphDeployment/v1alpha1"],
            "spec.services.*.failover.mode",
            "failover-mode-unknown",
        ),
        ("spec.services.w.ingress.host", ["DynamoGraphDeployment/v1alpha1"], "spec.services.*.ingress.host", BAD_RULE),
        ("spec.pvcs[0].name", ["DynamoGraphDeployment/v1alpha1"], "spec.pvcs.*.name", "pvc-name-required"),
        ("DynamoModel.spec.modelName", ["DynamoModel/v1alpha1"], "spec.modelName", "model-name-required"),
        ("spec.baseModelName", ["DynamoModel/v1alpha1"], "spec.baseModelName", "model-base-name-immutable"),
    ],
)
def test_a_field_lists_the_rules_that_look_at_it(command: Command, word: str, kinds: list[str], path: str, rule: str) -> None:
    (page,) = command("explain", word, "-o", "json").json
    assert [place["kind"] for place in page["places"]] == kinds
    assert page["places"][0]["path"] == path
    assert rule in [row["rule"] for row in page["places"][0]["rules"]]
    assert f"`{path}`" in command("explain", word).out


NOTHING = ["DYN999", "spec..x", "*", "[", "x" * 10_000, " ", "..", "[]", "a.b", "dgd.", "spec.servces.x.y.z", "dgd.nothing.like.it"]


@run_each("word", ["ingress-host-requird", "spec.nothing", "dgd.spec.nothing", "spec.\x1b[31mred\nnext", *NOTHING])
def test_a_word_that_means_nothing_is_wrong_usage(command: Command, word: str) -> None:
    ran = command("explain", word)
    assert (ran.code, ran.out, ran.err.count("\n"), "\x1b" in ran.err) == (2, "", 1, False)
    assert ("not a rule, a kind, a field of a kind, or a message that we know" in ran.err) is bool(word.strip())
    assert len(ran.err) < 300
    assert word not in NOTHING or "did you mean" not in ran.err


def test_nothing_on_standard_input_is_wrong_usage(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" \n")))
    ran = command("explain", "-")
    assert (ran.code, ran.out, "explain: nothing came in on standard input; name a rule" in ran.err) == (2, "", True)


def test_the_catalogue_lists_every_rule_as_text_and_as_data(command: Command) -> None:
    wanted = [rule.name for rule in list_all()]
    assert [row["name"] for row in command("rules", "-o", "json").json] == wanted
    text = command("rules").out.splitlines()
    assert [line.split()[1] for line in text[1:]] == wanted


def test_the_catalogue_of_one_kind(command: Command) -> None:
    for row in command("rules", "--kind", "dm", "-o", "json").json:
        assert [kind for kind in row["kinds"] if kind.startswith("DynamoModel/")]


def test_the_version_names_everything_it_knows(command: Command) -> None:
    answer = command("version").json
    assert set(answer) == {"version", "python", "compiled", "kinds"}
    assert answer["compiled"] is not engine.__file__.endswith(".py")
    assert [row["kind"] for row in answer["kinds"]] == [kind.name for kind in KINDS]
