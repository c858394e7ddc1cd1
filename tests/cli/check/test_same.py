"""One mistake, one finding: what a rule and the schema say of one value, what a wrong type hides, and objects that stand twice."""

from unittest.mock import Mock

import pytest

from dynamo_webhooks.cli.commands.check.run import AUTO, CheckRun
from dynamo_webhooks.cli.commands.check.selection import RuleSelection
from dynamo_webhooks.cli.validation.pipeline import ValidationSettings
from dynamo_webhooks.cli.yaml import comments
from dynamo_webhooks.cli.yaml.load import Source
from dynamo_webhooks.policies.facts import Facts
from tests.cli.conftest import Command, Files
from tests.cli.samples import BETA, GOOD, MODEL
from tests.rows import run_each

NEGATIVE = GOOD.replace("replicas: 2", "replicas: -1")
NAMED = BETA.replace("name: w", "name: a_b")


def rules(command: Command, *words: str) -> list[tuple[str, list[str]]]:
    """Each finding's rule, and those that it also names."""
    rows = command("check", *words, "-o", "json").json["findings"]
    return [(row["rule"], [other["rule"] for other in row.get("also", [])]) for row in rows]


def test_a_rule_and_the_schema_make_one_finding_that_names_both(command: Command, files: Files) -> None:
    files(a=NEGATIVE)
    assert rules(command, "a.yaml") == [("replicas-non-negative", ["schema-mismatch"])]
    out = command("check", "a.yaml").out
    assert ("  also schema-mismatch (DYN004)\n" in out, out.count("must be 0 or more")) == (True, 1)
    quiet = "a.yaml:10:17 error replicas-non-negative (DYN201): spec.services[worker].replicas: must be 0 or more, got -1"
    assert command("check", "a.yaml", "-q").out == f"{quiet} [also schema-mismatch (DYN004)]\n"
    for form in ("sarif", "github", "junit"):
        out = command("check", "a.yaml", "-o", form).out
        assert (out.count("also schema-mismatch (DYN004)"), out.count("got -1")) == (out.count("got -1"), out.count("got -1"))


def test_what_makes_one_finding(command: Command, files: Files) -> None:
    """The name of an item is one value, too; mistakes at two values stay two, and a baseline or a flag names each rule alone."""
    files(a=NEGATIVE, name=NAMED, two=NEGATIVE.replace("spec:", "spec:\n  backendFramework: none"))
    assert rules(command, "name.yaml") == [("service-name-format", ["schema-mismatch"])]
    assert len(rules(command, "two.yaml")) == 2
    assert "2 known, 2 new" in command("check", "a.yaml", "--baseline", "b.json", "--update-baseline").err
    assert command("check", "a.yaml", "--baseline", "b.json").code == 0
    assert rules(command, "a.yaml", "--ignore", "replicas-non-negative") == [("schema-mismatch", [])]
    assert rules(command, "a.yaml", "--ignore", "schema-mismatch") == [("replicas-non-negative", [])]


def test_a_name_that_a_pattern_refuses_gets_one_that_it_takes(command: Command, files: Files) -> None:
    files(a=NAMED)
    (row,) = command("check", "--line", "1.2", "a.yaml", "-o", "json", "--ignore", "service-name-format").json["findings"]
    assert (row["message"].endswith(', got "a_b"'), row["fix"]) == (True, 'Write "a-b"')


@pytest.mark.parametrize("wrong", ["spec: 1\n", "spec: []\n", "metadata: 5\nspec: {}\n"])
def test_an_object_without_its_frame_is_no_crash(command: Command, files: Files, wrong: str) -> None:
    files(a=f"apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\n{wrong}")
    ran = command("check", "a.yaml", "-o", "json")
    assert (ran.code, "wrong-type" in {row["rule"] for row in ran.json["findings"]}) == (1, True)


ANYWHERE = MODEL.replace(", namespace: llm", "")


@run_each(
    ("contents", "twins"),
    [
        ({"a": f"{MODEL}---\n{GOOD}", "b": MODEL}, [("b.yaml", 3, "a.yaml")]),
        ({"a": f"{MODEL}---\n{GOOD}"}, []),
        # of another version
        ({"a": GOOD, "b": BETA.replace("name: beta", "name: good").replace("name: w", "name: a")}, [("b.yaml", 3, "a.yaml")]),
        ({"dev__a": ANYWHERE, "prod__a": ANYWHERE}, []),  # environments without a namespace are not one
        ({"dev__a": ANYWHERE, "prod__a": ANYWHERE, "prod__b": ANYWHERE}, [("prod/b.yaml", 3, "prod/a.yaml")]),
        ({"dev__a": MODEL, "prod__a": MODEL}, [("prod/a.yaml", 3, "dev/a.yaml")]),
        ({"a": f"{MODEL}---\n{MODEL}".replace("name: m", "generateName: m-")}, []),
    ],
)
def test_an_object_that_stands_twice_is_told_at_the_second_place(
    command: Command, files: Files, contents: dict[str, str], twins: list[tuple[str, int, str]]
) -> None:
    files(**contents)
    paths = [f"{name.replace('__', '/')}.yaml" for name in contents]
    rows = command("check", *paths, "-o", "json").json["findings"]
    text = "must name one object, and {}:1 has the same kind and name; of both, the one applied last stays"
    assert [(row["file"], row["line"], row["message"]) for row in rows] == [(file, line, text.format(first)) for file, line, first in twins]
    assert {(row["rule"], row["level"]) for row in rows} <= {("duplicate-object", "warning")}
    assert rules(command, *paths, "--op", "delete") == []


def test_a_comment_accepts_a_duplicate_and_is_never_needless(command: Command, files: Files) -> None:
    ignored = MODEL.replace("llm}", "llm}   # dynamo-webhooks: ignore[duplicate-object] the pipeline picks one")
    files(a=MODEL, b=ignored)
    ran = command("check", "a.yaml", "b.yaml", "-o", "json")
    assert (ran.json["findings"], [row["reason"] for row in ran.json["suppressed"]]) == ([], ["the pipeline picks one"])
    assert rules(command, "b.yaml") == []


class Text(str):
    """A text that counts how often somebody looks for a word in it."""

    __slots__ = ("looks",)

    def __contains__(self, word: object) -> bool:
        self.looks = getattr(self, "looks", 0) + 1
        return isinstance(word, str) and self.find(word) >= 0


def test_many_objects_of_one_text_take_a_few_looks_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Mock(side_effect=comments.comments)
    monkeypatch.setattr(comments, "comments", read)
    text = Text("---\n".join([GOOD] * 50) + "---\n# dynamo-webhooks: ignore[duplicate-object] made so\n" + GOOD)
    run = CheckRun(ValidationSettings(Facts()), RuleSelection(), AUTO, None)
    run.check_file(Source("a.yaml", text), "")
    assert len(run.result().checked) == 51
    assert text.looks < 10
    assert read.call_count == 2
