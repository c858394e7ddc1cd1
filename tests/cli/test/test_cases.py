"""The command `test`: what each sort of case is held to, how a failure reads, what --update writes, and exit codes."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.check.reports.official import complaints, ours
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, GOOD, NEEDS_GROVE, OTHER_KIND, WARNED

GROVE_RULE = "priority-class-requires-grove"
MARKED = BAD.replace("{enabled: true}", "{enabled: true}  # expect: ingress-host-required")
MISSING = "must name a host while the ingress is enabled, got nothing"
REFUSED = f"  + line 10: ingress-host-required (error): spec.services[worker].ingress.host: {MISSING}"
FILLED = f"{WARNED}      replicas: 1\n"


@pytest.fixture
def case(files: Files) -> Files:
    """Writes case files by their names, with `_` for a dot."""
    return lambda **texts: files(**{name.replace("__", "/").replace("_", "."): text for name, text in texts.items()})


def _run(command: Command, case: Files, *words: str, **texts: str) -> tuple[int, str, str]:
    case(**texts)
    ran = command("test", ".", *words)
    return ran.code, ran.out, ran.err


def test_one_mistake_is_one_finding_and_any_of_its_rules_marks_it(command: Command, case: Files) -> None:
    wrong = GOOD.replace("replicas: 2", "replicas: -1")
    code, out, _ = _run(command, case, deny_x=wrong)
    assert (code, len(out.splitlines())) == (1, 2)
    assert "+ line 10: replicas-non-negative (error)" in out
    assert command("check", "deny.x.yaml", "-q").out.count(" error ") == 1
    for rule in ("replicas-non-negative", "schema-mismatch"):
        assert _run(command, case, deny_x=wrong.replace("-1", f"-1  # expect: {rule}"))[0] == 0
    assert _run(command, case, deny_x=wrong.replace("-1", "-1  # expect: replicas-non-negative, schema-mismatch"))[0] == 0


def test_passing_cases_are_counted(command: Command, case: Files) -> None:
    texts = {"allow_good": GOOD, "allow_warned": WARNED, "deny_bad": MARKED, "default_x": WARNED, "default_x_expected": FILLED}
    code, out, err = _run(command, case, **texts)
    assert (code, out) == (0, "")
    assert err.endswith("4 cases: 4 passed, 0 failed\n")
    assert "mut-dgd-origin-version is not evaluated: the fact operatorVersion is not known (1 case)\n" in err
    assert command("test", ".", "-v", "-q").out.splitlines()[0] == "ok   allow.good.yaml"


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        (
            "allow_bad",
            BAD,
            [
                "FAIL allow.bad.yaml: must be accepted, and is refused",
                REFUSED,
            ],
        ),
        ("deny_good", GOOD, ["FAIL deny.good.yaml: must be refused, and is accepted"]),
        (
            "deny_marked",
            MARKED.replace("host-required", "host-requird"),
            [
                "FAIL deny.marked.yaml: 1 expected finding is missing, 1 finding is not expected",
                "  - line 10: ingress-host-requird; there is no such rule; did you mean ingress-host-required?",
                REFUSED,
            ],
        ),
        (
            "deny_elsewhere",
            BAD.replace("bad", "bad # expect: DYN202"),
            [
                "FAIL deny.elsewhere.yaml: 1 expected finding is missing, 1 finding is not expected",
                "  - line 4: DYN202; it is found on line 10",
                REFUSED,
            ],
        ),
        (
            "allow_marked",
            GOOD.replace("2", "2 # expect: warn-dynamo-namespace"),
            ["FAIL allow.marked.yaml: 1 expected finding is missing", "  - line 10: warn-dynamo-namespace"],
        ),
        (
            "deny_empty",
            MARKED.replace("expect: ingress-host-required", "expect:"),
            ["FAIL deny.empty.yaml: 1 expected finding is missing, 1 finding is not expected", "  - line 10: ; the mark must name a rule"],
        ),
    ],
)
def test_a_failure_shows_expected_and_found(command: Command, case: Files, name: str, text: str, lines: list[str]) -> None:
    code, out, err = _run(command, case, **{name: text})
    assert code == 1
    assert out.splitlines()[: len(lines)] == lines
    assert err.endswith("1 case: 0 passed, 1 failed\n")


@pytest.mark.parametrize(
    "text",
    [
        MARKED,
        BAD.replace("{enabled: true}", "{enabled: true} # a reason # expect: DYN202"),
        BAD.replace("      ingress:", "      # expect: ingress-host-required\n      # and why\n\n      ingress:"),
        BAD.replace("{enabled: true}", "{enabled: true} #expect:ingress-host-required , DYN202 because of it"),
        MARKED.replace("\n", "\r\n"),
    ],
)
def test_a_mark_stands_behind_or_above_its_line(command: Command, case: Files, text: str) -> None:
    code, out, _ = _run(command, case, deny_bad=text)
    assert (code, out) == (0, "")


def test_a_mark_inside_of_a_text_is_no_mark(command: Command, case: Files) -> None:
    text = GOOD.replace("name: good", 'name: good\n  annotations: {a: "# expect: nothing"}')
    assert _run(command, case, allow_good=text)[0] == 0


def test_facts_come_from_the_folder_and_from_beside_the_case(command: Command, case: Files) -> None:
    refused = NEEDS_GROVE.replace("high", f"high # expect: {GROVE_RULE}")
    case(facts="grove: true", allow_a=NEEDS_GROVE, deny_b=refused, deny_b_facts="grove: false", sub__allow_c=NEEDS_GROVE)
    case(other__facts="grove: false", other__deny_d=refused)
    ran = command("test", ".")
    assert (ran.code, ran.out) == (0, "")
    assert command("test", "sub").err.startswith(f"{GROVE_RULE} is not evaluated: the fact grove is not known (1 case)\n")
    assert command("test", "sub", "--require-facts").code == 5
    assert command("test", "sub", "--require-facts", "--set-fact", "grove=true").code == 0


def test_an_unknown_fact_is_named_where_a_mark_waits_for_it(command: Command, case: Files) -> None:
    _, out, _ = _run(command, case, deny_x=NEEDS_GROVE.replace("high", f"high # expect: {GROVE_RULE}"))
    assert f"- line 5: {GROVE_RULE}; it is not evaluated, because the fact grove is not known: facts.yaml beside the case can say it" in out


def test_a_stored_object_makes_it_an_update(command: Command, case: Files) -> None:
    new = GOOD.replace("  services:", "  backendFramework: sglang\n  services:")
    old = new.replace("sglang", "vllm")
    assert _run(command, case, allow_x=new)[0] == 0
    code, out, _ = _run(command, case, allow_x_old=old)
    assert (code, out.splitlines()[0]) == (1, "FAIL allow.x.yaml: must be accepted, and is refused")
    code, out, _ = _run(command, case, allow_x_old=old.replace("good", "other"))
    assert "allow.x.old.yaml holds no object that this case changes" in out
    code, out, _ = _run(command, case, allow_x_old="a: [")
    assert (code, out.splitlines()[0]) == (1, "FAIL allow.x.yaml: allow.x.old.yaml:2:1: a value is required here")


def test_a_case_names_its_user(command: Command, case: Files) -> None:
    """An object under a scaling adapter may be scaled by the operator alone."""
    new = GOOD.replace("replicas: 2", "replicas: 3\n      scalingAdapter: {enabled: true}")
    principal = "system:serviceaccount:dynamo-system:operator"
    texts = {"facts": f"operatorPrincipal: {principal}", "allow_x_old": new.replace("3", "2")}
    assert _run(command, case, allow_x=new, **texts)[0] == 1
    assert _run(command, case, allow_x=f"# as: {principal}\n{new}")[0] == 0
    assert _run(command, case, "--as", principal, allow_x=new)[0] == 0


def test_a_default_case_compares_the_whole_result(command: Command, case: Files) -> None:
    wrong = FILLED.replace("replicas: 1", "replicas: 2").replace("dynamoNamespace: old\n", "dynamoNamespace: old\n      envs: []\n")
    code, out, _ = _run(command, case, default_x=WARNED, default_x_expected=wrong)
    assert code == 1
    assert out.splitlines() == [
        "FAIL default.x.yaml: the result is not the one in default.x.expected.yaml",
        "  - spec.services[worker].envs: []",
        "  ~ spec.services[worker].replicas: expected 2, found 1",
    ]
    assert _run(command, case, "-k", "two", default_two=f"{WARNED}---\n{FILLED}")[0] == 0
    assert "must" in _run(command, case, "-k", "odd", default_odd=f"{WARNED}---\n{FILLED}".replace("services:", "services: 3 #"))[1]


def test_a_convert_case_converts_to_the_version_of_what_is_expected(command: Command, case: Files) -> None:
    case(convert_x=GOOD)
    (Path("convert.x.expected.yaml")).write_text(command("convert", "--to", "v1beta1", "convert.x.yaml").out)
    assert command("test", ".").code == 0
    Path("convert.x.expected.yaml").write_text(Path("convert.x.expected.yaml").read_text().replace("replicas: 2", "replicas: 3"))
    assert "  ~ spec.components[worker].replicas: expected 3, found 2" in command("test", ".").out


def test_secrets_in_cases_are_not_printed(command: Command, case: Files) -> None:
    env = "      envs: [{name: HF_TOKEN, value: s3cr3t}]\n"
    texts = {
        "default_x": WARNED + env,
        "default_x_expected": FILLED.replace("      replicas", env.replace("s3cr3t", "s3cr3t-2") + "      replicas"),
    }
    _, out, _ = _run(command, case, **texts)
    assert "envs[HF_TOKEN].value: expected" in out
    assert "s3cr3t" not in out


def test_update_writes_what_is_found_and_nothing_else(command: Command, case: Files) -> None:
    above = BAD.replace("      ingress:", "      # why\n      # expect: gone-rule\n      ingress:")
    texts = {
        "deny_bare": BAD,
        "deny_stale": above.replace("name: bad", "name: bad # named # expect: DYN041"),
        "allow_stale": WARNED.replace("worker:", "worker: # expect: warn-dynamo-namespace"),
        "allow_unmarked": WARNED,
        "default_new": WARNED,
        "default_two": f"# both\n{WARNED}---\n# after\n{WARNED}",
        "default_pinned": WARNED,
        "default_pinned_expected": "# kept\n" + FILLED.replace("replicas: 1", "replicas: 7 # seven"),
        "convert_new": GOOD,
        "deny_good": GOOD,
    }
    code, out, _ = _run(command, case, "--update", **texts)
    assert (code, out) == (1, "FAIL deny.good.yaml: must be refused, and is accepted\n")
    Path("deny.good.yaml").unlink()
    assert Path("deny.bare.yaml").read_text() == MARKED
    assert Path("deny.stale.yaml").read_text() == MARKED.replace("name: bad", "name: bad # named").replace(
        "      ingress:", "      # why\n      ingress:"
    )
    assert Path("allow.stale.yaml").read_text() == WARNED.replace(": old", ": old  # expect: warn-dynamo-namespace")
    assert Path("allow.unmarked.yaml").read_text() == WARNED
    assert yaml.safe_load(Path("default.new.expected.yaml").read_text()) == yaml.safe_load(FILLED)
    assert Path("default.two.yaml").read_text() == f"# both\n{WARNED}---\n# after\n{FILLED}"
    assert Path("default.pinned.expected.yaml").read_text() == "# kept\n" + FILLED.replace("replicas: 1", "replicas: 1 # seven")
    assert yaml.safe_load(Path("convert.new.expected.yaml").read_text())["apiVersion"] == "nvidia.com/v1beta1"
    before = {file.name: file.stat().st_mtime_ns for file in Path().iterdir()}
    again = command("test", ".", "--update", "-q")
    assert (again.code, again.out, again.err) == (0, "", "")
    assert {file.name: file.stat().st_mtime_ns for file in Path().iterdir()} == before


def test_update_keeps_line_ends(command: Command, case: Files) -> None:
    assert _run(command, case, "--update", deny_bad=BAD.replace("\n", "\r\n"))[0] == 0
    assert Path("deny.bad.yaml").read_bytes() == MARKED.replace("\n", "\r\n").encode()


@pytest.mark.parametrize(
    ("texts", "words", "code", "message"),
    [
        ({}, (), 3, "no test case found"),
        ({}, ("--allow-empty",), 0, "0 cases"),
        ({"allow_good": GOOD}, ("-k", "bad"), 3, "no test case found whose name contains bad"),
        ({"allow_good": GOOD}, ("-k", "goo"), 0, "1 case: 1 passed"),
        ({"allow_good": GOOD, "alow_bad": BAD}, (), 0, "alow.bad.yaml: is not a test case file; names begin with"),
        ({"allow_good": GOOD, "deny_old": BAD}, (), 0, "deny.old.yaml: belongs to no case; a case can't be called old, expected or facts"),
        ({"allow_good": GOOD, "facts": "grov: true"}, (), 2, "facts.yaml: grov: unknown fact"),
        ({"allow_good": GOOD, "allow_good_facts": "grove: 3"}, (), 2, "allow.good.facts.yaml: grove: must be"),
    ],
)
def test_exit_codes(command: Command, case: Files, texts: dict[str, str], words: tuple[str, ...], code: int, message: str) -> None:
    got, out, err = _run(command, case, *words, **texts)
    assert (got, out) == (code, "")
    assert message in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "deny.x.yaml:"),
        (OTHER_KIND, "deny.x.yaml holds no Dynamo object (group nvidia.com)"),
        ("", "deny.x.yaml holds no Dynamo object (group nvidia.com)"),
        (json.dumps({"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel"}), "JSON has no comments for marks"),
    ],
)
def test_a_case_that_is_none_fails_with_a_sentence(command: Command, case: Files, text: str, message: str) -> None:
    code, out, _ = _run(command, case, deny_x=text)
    assert code == 1
    assert message in out


def test_a_folder_must_be_one(command: Command, case: Files) -> None:
    case(allow_x=GOOD)
    assert command("test", "allow.x.yaml").err == "dynamo-webhooks test: allow.x.yaml: must be a folder of case files\n"
    assert command("test").code == command("test", "nowhere").code == 2


def test_json_is_as_its_schema_says(command: Command, case: Files) -> None:
    texts = {"allow_good": GOOD, "deny_b\u00e4d": BAD, "default_x": WARNED, "convert_x": GOOD}
    case(**texts)
    ran = command("test", ".", "-o", "json")
    assert complaints(ours("test"), ran.json) == []
    assert {row["file"]: row["passed"] for row in ran.json["cases"]} == {
        "allow.good.yaml": True,
        "convert.x.yaml": False,
        "default.x.yaml": False,
        "deny.b\u00e4d.yaml": False,
    }
    assert ran.json["summary"] == {"cases": 4, "failed": 3, "exit": 1}
