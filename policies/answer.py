"""Projections of findings: the webhook's status with causes and warnings.

Control characters of the author's text are escaped: an API server silently drops a warning with one, and kubectl prints denials unchanged.
"""

from collections.abc import Iterable
from typing import Any, Final

from ..api.paths import format_path
from ..api.wording import escape_unprintable, rule_address, shorten
from .finding import Finding
from .rule import Level

MAX_WARNING_CHARACTERS: Final = 120  # as the API machinery asks for
MAX_MESSAGE_CHARACTERS: Final = 2_000  # of one finding: names come from the author and may be absurd
_MAX_PATH_CHARACTERS: Final = 700  # of that for the path, so that an absurd name in it leaves room for the sentence and the rule's name
_MAX_FIELD_CHARACTERS: Final = 1_000  # of a cause
MAX_CAUSES: Final = 100  # of one answer: 10,000 bad services must not make a 2 MB answer
MAX_WARNINGS: Final = 100  # of one answer; API servers cut the sum of them to 4 KB anyway
MAX_NAMED_FINDINGS: Final = max(MAX_CAUSES, MAX_WARNINGS)
MAX_FINDINGS: Final = 1_000  # errors, and warnings; an answer names a tenth of them and counts the others

# levels that refuse a request: errors, internal errors, and rules that lack a fact, which fail closed
REFUSING: Final = frozenset({Level.ERROR, Level.FAULT, Level.NOT_EVALUATED})


def format_finding(finding: Finding) -> str:
    """One finding as one line: path, requirement, value, and the rule's name in brackets."""
    path = shorten(_field(finding), _MAX_PATH_CHARACTERS)
    text = _text(finding, MAX_MESSAGE_CHARACTERS - len(path) - 2)
    return f"{path}: {text}" if path else text


def is_refused(findings: Iterable[Finding]) -> bool:
    """Whether the findings refuse the request."""
    return any(finding.level in REFUSING for finding in findings)


def list_warnings(findings: Iterable[Finding]) -> list[str]:
    """The texts of the warnings, each of at most 120 characters; the last one of very many counts those that are left out."""
    warned = [finding for finding in findings if finding.level is Level.WARNING]
    shown = warned if len(warned) <= MAX_WARNINGS else warned[: MAX_WARNINGS - 1]
    texts = [_warning(finding) for finding in shown]
    return texts if len(warned) <= MAX_WARNINGS else [*texts, f"and {_more(warned, shown)} more warnings"]


def _warning(finding: Finding) -> str:
    """One warning; where it is too long, the rule's name is the first to go."""
    whole = format_finding(finding)
    return whole if len(whole) <= MAX_WARNING_CHARACTERS else shorten(whole.removesuffix(f" [{finding.rule.name}]"), MAX_WARNING_CHARACTERS)


def make_status(kind: str, group: str, name: str, findings: list[Finding], *, site: str = "") -> dict[str, Any]:
    """The `metav1.Status` of a denial: 422 Invalid with one cause a finding, or 500 when nothing but our own faults refuse.

    `site` is the address of the documentation: causes then name the page of their rule. kubectl prints causes, one a line.
    """
    refusing = [finding for finding in findings if finding.level in REFUSING]
    faults = all(finding.level is Level.FAULT for finding in refusing)
    shown = refusing[:MAX_CAUSES]
    lines = [format_finding(finding) for finding in shown]
    if len(refusing) > MAX_CAUSES:
        lines.append(f"and {_more(refusing, shown)} more")
    what = f'{kind}.{group} "{escape_unprintable(shorten(name, 253))}"'
    return {
        "status": "Failure",
        "code": 500 if faults else 422,
        "reason": "InternalError" if faults else "Invalid",
        "message": f"{what} is invalid: " + "; ".join(lines) if not faults else f"{what} couldn't be evaluated: " + "; ".join(lines),
        "details": {
            "name": shorten(name, 253),
            "group": group,
            "kind": kind,
            "causes": [_cause(finding, site) for finding in shown],
        },
    }


def _more(findings: list[Finding], named: list[Finding]) -> str:
    return f"{len(findings) - len(named)}" if len(findings) < MAX_FINDINGS else f"at least {MAX_FINDINGS - len(named)}"


def _cause(finding: Finding, site: str) -> dict[str, str]:
    return {
        "reason": finding.cause.value,
        "message": " ".join(filter(None, (_text(finding, MAX_MESSAGE_CHARACTERS), rule_address(site, finding.rule.name)))),
        "field": shorten(_field(finding), _MAX_FIELD_CHARACTERS),
    }


def _field(finding: Finding) -> str:
    # cut before it is escaped, too: names may be absurdly long
    return escape_unprintable(shorten(format_path(finding.path, _MAX_FIELD_CHARACTERS), _MAX_FIELD_CHARACTERS))


def _text(finding: Finding, limit: int) -> str:
    """The sentence without its path; the rule's name in brackets is never cut off."""
    name = f" [{finding.rule.name}]"
    return shorten(escape_unprintable(shorten(finding.text, limit)), limit - len(name)) + name
