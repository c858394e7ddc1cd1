"""Projections of findings: the webhook's status with causes and warnings. How one finding reads is written here and nowhere else.

What the author wrote stands on one line with its control characters escaped: an API server drops a warning that holds one, in silence,
and kubectl prints denials to a terminal as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from dynamo_webhooks.api.paths import Path, render
from dynamo_webhooks.api.wording import printable, shortened
from dynamo_webhooks.policies.finding import Finding, Level

WARNING_LENGTH: Final = 120  # the API machinery asks for warnings of at most 120 characters each
MESSAGE_LENGTH: Final = 2_000  # of one finding: names come from the author and may be absurd
_PATH_LENGTH: Final = 700  # of that for the path, so that an absurd name in it leaves room for the sentence and the rule's name
_LONGEST_FIELD: Final = 1_000  # of a cause
CAUSES: Final = 100  # of one answer: 10,000 bad services must not make a 2 MB answer
WARNINGS: Final = 100  # of one answer; API servers cut the sum of them to 4 KB anyway
NAMED: Final = max(CAUSES, WARNINGS)
MOST: Final = 1_000  # errors, and warnings, that a server looks for: an answer names a tenth of them, and says that there are more

# what refuses a request: errors, our own faults, and rules that lack a fact (they fail closed, and say so)
REFUSING: Final = frozenset({Level.ERROR, Level.FAULT, Level.NOT_EVALUATED})


# paths in the words of the author's version, where that isn't the one that the rules read; others are printed as they are
Translation: TypeAlias = Mapping[Path, str]


def sentence(finding: Finding, translate: Translation | None = None) -> str:
    """One finding as one line: path, what must be, what was seen, and the rule's name in brackets."""
    path = shortened(_field(finding, translate), _PATH_LENGTH)
    text = _text(finding, MESSAGE_LENGTH - len(path) - 2)
    return f"{path}: {text}" if path else text


def refuses(findings: Iterable[Finding]) -> bool:
    """Whether the findings refuse the request."""
    return any(finding.level in REFUSING for finding in findings)


def warnings(findings: Iterable[Finding], translate: Translation | None = None) -> list[str]:
    """The texts of the warnings, each of at most 120 characters; the last one of very many counts those that are left out."""
    found = [finding for finding in findings if finding.level is Level.WARNING]
    shown = found if len(found) <= WARNINGS else found[: WARNINGS - 1]
    texts = [_warning(finding, translate) for finding in shown]
    return texts if len(found) <= WARNINGS else [*texts, f"and {_more(found, shown)} more warnings"]


def _warning(finding: Finding, translate: Translation | None) -> str:
    """One warning; where it is too long, the rule's name is the first to go."""
    whole = sentence(finding, translate)
    return whole if len(whole) <= WARNING_LENGTH else shortened(whole.removesuffix(f" [{finding.rule.name}]"), WARNING_LENGTH)


def status(kind: str, group: str, name: str, findings: list[Finding], translate: Translation | None = None) -> dict[str, Any]:
    """The `metav1.Status` of a denial: 422 Invalid with one cause a finding, or 500 when nothing but our own faults refuse."""
    refusing = [finding for finding in findings if finding.level in REFUSING]
    faults = all(finding.level is Level.FAULT for finding in refusing)
    shown = refusing[:CAUSES]
    lines = [sentence(finding, translate) for finding in shown]
    if len(refusing) > CAUSES:
        lines.append(f"and {_more(refusing, shown)} more")
    what = f'{kind}.{group} "{printable(shortened(name, 253))}"'
    return {
        "status": "Failure",
        "code": 500 if faults else 422,
        "reason": "InternalError" if faults else "Invalid",
        "message": f"{what} is invalid: " + "; ".join(lines) if not faults else f"{what} could not be judged: " + "; ".join(lines),
        "details": {
            "name": shortened(name, 253),
            "group": group,
            "kind": kind,
            "causes": [_cause(finding, translate) for finding in shown],
        },
    }


def _more(found: list[Finding], shown: list[Finding]) -> str:
    return f"{len(found) - len(shown)}" if len(found) < MOST else f"at least {MOST - len(shown)}"


def _cause(finding: Finding, translate: Translation | None) -> dict[str, str]:
    return {
        "reason": finding.cause.value,
        "message": _text(finding, MESSAGE_LENGTH),
        "field": shortened(_field(finding, translate), _LONGEST_FIELD),
    }


def _field(finding: Finding, translate: Translation | None) -> str:
    # cut before it is escaped, too: names may be absurdly long
    return printable(shortened((translate or {}).get(finding.path) or render(finding.path, _LONGEST_FIELD), _LONGEST_FIELD))


def _text(finding: Finding, limit: int) -> str:
    """The sentence without its path; the rule's name in brackets is never cut off."""
    name = f" [{finding.rule.name}]"
    return shortened(printable(shortened(finding.text, limit)), limit - len(name)) + name
