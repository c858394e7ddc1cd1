"""What the site is made of (tools/site): an address for all that people look up, and the words of refusals on the page of their rule."""

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from itertools import islice
from typing import Final

from dynamo_webhooks.admission.judging import judge, reword_finding
from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.operator.configuration import leaves
from dynamo_webhooks.cli.commands.completion.candidates import list_actions
from dynamo_webhooks.cli.console.program import COMMANDS
from dynamo_webhooks.cli.project.keys import KEYS
from dynamo_webhooks.policies.answer import format_finding
from dynamo_webhooks.policies.catalogue import list_all
from tests.golden.corpus import cases
from tests.golden.test_admission import _review as read_case
from tests.rows import run_each
from tools.site.pages import list_messages, list_own_fields, make_anchor, make_navigation, make_site_files

_files: Final = cache(lambda: make_site_files(playground=False))


def _page(name: str) -> str:
    return _files()[f"pages/{name}"].decode()


def test_every_rule_has_a_row_that_its_filters_find() -> None:
    rows = dict(re.findall(r'<tr data-rule="([^"]+)" ([^>]+)>', _page("rules.md")))
    assert set(rows) == {rule.name for rule in list_all()}
    offered = {
        name: set(re.findall(r'value="([^"]+)"', options))
        for name, options in re.findall(r'<select name="(\w+)">(.*?)</select>', _page("rules.md"))
    }
    assert len(offered) == 8
    for name, data in rows.items():
        facets = {key: set(values.split()) for key, values in re.findall(r'data-(\w+)="([^"]*)"', data)}
        assert facets.keys() == offered.keys(), name
        assert all(values and values <= offered[key] for key, values in facets.items()), name
    assert 'data-level="default"' in rows["mut-min-available"]
    assert 'data-kind="DynamoGraphDeployment"' in rows["restart-order-unknown"]


@run_each(("kind", "version"), list_kind_versions())
def test_every_field_has_an_address_of_its_own(kind: str, version: str) -> None:
    made = re.findall(r"^### `.+` \{ #(\S+) \}$", _page(f"fields/{kind.lower()}-{version}.md"), re.MULTILINE)
    assert made == [make_anchor(path) for path in list_own_fields(kind, version)]
    assert len(set(made)) == len(made) > 4


def test_every_flag_and_key_has_an_address() -> None:
    for name in COMMANDS:
        options = [option for action in list_actions(name) for option in action.option_strings]
        flags = [option.removeprefix("--") for option in options if option.startswith("--") and option != "--help"]
        assert [flag for flag in flags if _page(f"commands/{name}.md").count(f'<span id="{flag}">') != 1] == []
    page, project = _page("configuration.md"), _page("fields/project-file.md")
    assert [key for path, _ in leaves() if page.count(f'<span id="{(key := ".".join(path))}">') != 1] == []
    assert [key.name for key in KEYS if project.count(f'<span id="{key.name}">') != 1] == []


def test_the_navigation_has_every_page_once_and_the_playground_where_there_is_one() -> None:
    texts = {name.removeprefix("pages/"): data.decode() for name, data in _files().items() if name.endswith(".md")}
    listed = re.findall(r"'([^' ]+\.md)'", str(make_navigation(texts, playground=False)))
    assert sorted(listed) == sorted(name for name in texts if not name.startswith("rules/"))
    assert "playground/" not in str(make_navigation(texts, playground=False))
    assert {"Playground": "playground/"} in make_navigation(texts, playground=True)


def test_the_home_page_says_what_the_readme_says_and_lists_all_pages() -> None:
    home = _page("README.md")
    assert home.startswith("# dynamo-webhooks\n")
    assert all(f"\n## {section}\n" in home for section in ("Try it", "Check your files", "Install on a cluster", "All pages"))
    assert "[install](install.md#install)" in home.replace("[build the image and push it]", "[install]")
    assert "[CONTRIBUTING](CONTRIBUTING.md)" in home
    assert "(docs/" not in home


def test_a_field_has_its_type_values_releases_and_rules() -> None:
    page = _page("fields/dynamographdeployment-v1beta1.md").partition("{ #spec.components.multinode.nodeCount }")[2].partition("###")[0]
    assert "Type integer. Nodes of a replica." in page
    assert "Default `2`; at least `2`" in page
    assert (
        "In v1alpha1: [`spec.services.*.multinode.nodeCount`](dynamographdeployment-v1alpha1.md#spec.services.multinode.nodeCount)" in page
    )
    assert "- [`node-count-limit`](../rules/node-count-limit.md) (DYN210)" in page
    roles = _page("fields/dynamographdeployment-v1beta1.md").partition("{ #spec.components.roles.podTemplate }")[2].partition("###")[0]
    assert "Since operator release 1.6." in roles


def test_links_out_of_docs_stay_in_the_site_or_become_words() -> None:
    assert "(docs/architecture.md)" not in _page("CONTRIBUTING.md")
    assert "[architecture](architecture.md)" in _page("CONTRIBUTING.md")
    assert "tests/golden/recorded/README.md" not in _page("CONTRIBUTING.md")
    assert "[CONTRIBUTING](CONTRIBUTING.md#the-path-of-a-request)" in _page("architecture.md")


def recorded_messages() -> Iterator[tuple[str, str]]:
    """What we answer to a part of the recorded refusals, in both versions: the rule, and the message without its name."""
    for case in islice(cases("golden.ndjson.gz", "admit"), 0, None, 7):
        if "/mutate" in case["path"] or case["expect"].get("code") == 400 or case["expect"].get("failed"):
            continue
        review = read_case(case)
        for finding in [] if review.operation == "DELETE" else judge(review):
            if finding.rule.name in list_messages():
                for version in ("v1alpha1", "v1beta1"):
                    yield finding.rule.name, format_finding(reword_finding(finding, version)).removesuffix(f" [{finding.rule.name}]")


SHORT: Final = {"pod-refused", "ckpt-pod-refused", "dgdr-pod-refused"}  # whose sentences are of few words, in many forms


def test_the_texts_of_recorded_refusals_are_on_the_page_of_their_rule() -> None:
    rules = set()
    for rule, message in recorded_messages():
        line = " ".join(message.split())
        texts = [text for text in list_messages()[rule] if text in line]
        assert sum(map(len, texts)) >= 12 or rule in SHORT, message
        page = unescape(_page(f"rules/{rule}.md")).replace("\\*", "*")
        assert all(f"- {text}\n" in page for text in texts), rule
        rules.add(rule)
    assert len(rules) > 60
