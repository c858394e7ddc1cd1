"""Laws of `convert` over objects whose conversion was recorded from the Go operator."""

import re
from typing import Final

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.convert.run import convert_accepted, convert_text
from dynamo_webhooks.cli.objects.manifest import find_manifests
from dynamo_webhooks.cli.rewrite.emit import emit_yaml
from dynamo_webhooks.cli.validation.levels import ERROR
from dynamo_webhooks.cli.validation.pipeline import ValidationSettings, check_object
from dynamo_webhooks.cli.yaml.load import Document, Source, read_text
from dynamo_webhooks.policies.catalogue import list_declared
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE
from tests.cli.recorded import OTHER, sample, version
from tests.cli.sizes import by_day_and_night

REMEMBERS: Final = r"^    nvidia.com/d(gd|cd|gdr|gdsa)-(spec|status): "
ONLY_V1ALPHA1: Final = frozenset(rule.name for rule in list_declared() if ".v1alpha1." in rule.module)


def behind_lists(text: str) -> list[tuple[int, int]]:
    """The numbers of the lines behind each list's last item, with the column of its dash."""
    lines = text.split("\n")[:-1]
    places = []
    for number, line in enumerate(lines):
        dash = re.match(r"( *)- ", line)
        if dash is None:
            continue
        column = len(dash[1])
        end = next((at for at in range(number + 1, len(lines)) if len(lines[at]) - len(lines[at].lstrip()) <= column), len(lines))
        if end == len(lines) or not lines[end].startswith(f"{dash[1]}- "):
            places.append((end, column))
    return places


@by_day_and_night("apart", 600, 120)
def test_comments_behind_the_last_item_of_a_list_stay(apart: int) -> None:
    """Items are often commented out there; in the other version the list may be a map, a field, or nothing at all."""
    seen = 0
    for obj in sample(apart):
        text, other = emit_yaml(obj), OTHER[version(obj)]
        for number, column in behind_lists(text):
            for deeper in (0, 2):
                lines = text.split("\n")
                lines.insert(number, f"{' ' * (column + deeper)}# - none: of these")
                done = convert_text("a", "\n".join(lines), other, verify=False, line=Line.V1_5)
                assert done.failures or done.text.count("# - none: of these") == 1, "\n".join(lines)
                seen += 1
    assert seen > 10


@pytest.mark.parametrize("line", Line)
@by_day_and_night("apart", 360, 15)
def test_nothing_is_written_that_check_refuses(apart: int, line: Line) -> None:
    """What an author wrote may be refused before; conversion adds no error, but for what annotations say that he wrote in v1alpha1."""
    settings = ValidationSettings(Facts(operatorLine=line))

    def errors(text: str) -> list[set[str]]:
        documents = [document for document in read_text(Source("a", text)) if isinstance(document, Document)]
        judged = [check_object(manifest, CREATE, None, settings).findings for manifest in find_manifests(documents)]
        return [{finding.rule for finding in findings if finding.level == ERROR} for findings in judged]

    left = converted = 0
    for obj in sample(apart):
        text, other = emit_yaml(obj), OTHER[version(obj)]
        done, reasons = convert_accepted("a", text, other, line=line, verify=False)
        assert bool(reasons) <= (done.text == text)
        written = ONLY_V1ALPHA1 if re.search(REMEMBERS, text, re.MULTILINE) else frozenset()
        assert all(after - before <= written for before, after in zip(errors(text), errors(done.text), strict=True)), text
        left, converted = left + bool(reasons), converted + done.converted
    assert (left > 0, converted > 10) == (True, True)
