"""The pages of a pasted message: the rules that it names, else those that say its sentences, and the API server's words around them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from ....policies.catalogue import find_rule
from ....policies.checks import CEL_RULE, SCHEMA_RULE, UNKNOWN_FIELD, WRONG_TYPE
from ....policies.rule import Rule
from ...project.keys import USER
from ...yaml.load import load_documents
from . import field, rule
from .cause import Cause, RuleMessage, find_operator_rules, find_rule_message, split_causes, split_refusals
from .field import Page
from .sentence import find_rules_by_text

_MAX_NAMED_FIELDS: Final = 3  # that are pointed out
_MAX_MESSAGE_CHARACTERS: Final = 20_000  # a message, not a log
_MAX_LOCATIONS: Final = 4  # locations of one sentence; several kinds share a block
_MAX_STEPS: Final = 40  # of a path; every field has fewer
_UNKNOWN: Final = re.compile(r'unknown field "(?P<create>[^"]+)"|\.(?P<apply>spec\S*): field not declared')
_POLICY: Final = re.compile(rf"ValidatingAdmissionPolicy '(?P<cluster>[^']+)'|\[{USER}(?P<server>[a-z0-9.-]+)\]")


class KnownMessage(NamedTuple):
    """A message that no rule writes, of known_messages.yaml, and the pattern that recognises it, ignoring case."""

    name: str
    shown: str  # with dots for variable parts
    pattern: str
    meaning: str
    remedy: str
    rule: Rule | None  # the rule with which `check` finds the same

    @property
    def page(self) -> Page:
        """The page of this message."""
        rules = field.summarize_rules([] if self.rule is None else [self.rule])
        return {"message": self.name, "words": self.shown, "meaning": self.meaning, "remedy": self.remedy, "rules": rules, "fields": []}


@cache
def load_tables() -> dict[str, tuple[KnownMessage, ...]]:
    """The messages by who says them: `transport` on the way to the webhooks, `server` about the object, and `ours`."""
    [document] = load_documents(Path(__file__).with_name("known_messages.yaml").read_text("utf-8"))
    return {
        who: tuple(KnownMessage(**{**entry, "rule": find_rule(entry.get("rule", ""))}) for entry in entries)
        for who, entries in document.data.items()
    }


def names_policy(text: str) -> bool:
    """Whether a message says which policy of the cluster or of the server refuses or warns."""
    return _POLICY.search(text) is not None


def _known(text: str) -> Iterator[KnownMessage]:
    """The known messages in a text; only the first of the transport if there is one, because the object wasn't judged then."""
    for who, table in load_tables().items():
        matches = [words for words in table if re.search(words.pattern, text, re.IGNORECASE | re.DOTALL)]
        if matches and who == "transport":
            yield matches[0]
            return
        yield from matches


def markdown(page: Page) -> str:
    """The page as Markdown."""
    parts = [f"# {page['words']}", page["meaning"], f"**Fix.** {page['remedy']}"]
    meant = "Did you mean {}? " if page["message"] == UNKNOWN_FIELD.name else ""
    parts += [f"{meant.format(f'`{path}`')}`dynamo-webhooks explain '{path}'` shows the field and its values." for path in page["fields"]]
    parts += [f"`check` reports it as `{same['rule']}` ({same['code']})." for same in page["rules"]]
    return "\n\n".join(parts) + "\n"


def find(text: str) -> list[Page]:
    """The pages, each once, in the order of the message; empty for a text that says nothing we know."""
    pages: dict[str, Page] = {}
    for refusal in split_refusals(text[:_MAX_MESSAGE_CHARACTERS]):
        for page in _explain(refusal):
            reported = pages.setdefault(str(page.get("rule") or page.get("words") or page.get("field")), page)
            if "fields" in page:
                reported["fields"] = [*dict.fromkeys((*reported["fields"], *page["fields"]))][:_MAX_NAMED_FIELDS]
    return [*pages.values()]


def _explain(text: str) -> list[Page]:
    """The pages of one refusal."""
    around = [*_known(text)]
    pages: list[Page] = []
    plain: dict[Cause, list[KnownMessage]] = {}  # causes in the API server's words
    other: list[Cause] = []
    for cause in split_causes(text):
        rule_pages = _find_rules(cause)
        known = [*_known(cause.text)]
        if not rule_pages and not known:
            rule_pages = [rule.make_page(likely_rule) for likely_rule in find_rules_by_text(cause.text)]
        pages += rule_pages
        if rule_pages or (cause.cut and (pages or plain)):  # what a cut off cause would have said is unknown
            continue
        if known:
            plain[cause] = known
        else:
            other.append(cause)
    messages = [words for words in around if words.rule not in _OF_CAUSES or any(words in listed for listed in plain.values())]
    pages += [{**words.page, "fields": _fields(words, plain)} for words in messages]
    return pages + (_other_pages(other, alone=not pages) if all(words.rule in _OF_CAUSES for words in around) else [])


_OF_CAUSES: Final = (SCHEMA_RULE, WRONG_TYPE)  # of which the API server refuses one field, unless a rule does


def _find_rules(cause: Cause) -> list[Page]:
    """The pages of the rules and of one's own policies that a cause names, or of the rule whose words it has."""
    own = (rule.find(f"{USER}{match[match.lastgroup or 0]}") for match in _POLICY.finditer(cause.text))
    named = [*rule.find_in_message(cause.text), *filter(None, own)]
    if named:
        return named
    rules = find_operator_rules(cause)
    if rules:
        return [rule.make_page(operator_rule) for operator_rule in rules]
    sentence = find_rule_message(cause)
    return [] if sentence is None else [_sentence_page(sentence)]


def _fields(words: KnownMessage, causes: Mapping[Cause, Sequence[KnownMessage]]) -> list[str]:
    """The first fields of our kinds of which the causes say a known message; for an unknown field the nearest one that exists."""
    matching = [cause for cause, known in causes.items() if words in known]
    if words.rule is UNKNOWN_FIELD:
        paths = [(cause.kinds, match[match.lastgroup or 0]) for cause in matching for match in _UNKNOWN.finditer(cause.text)]
        near = [field.correct_path(".".join((*kinds, path))) for kinds, path in paths]
        return [*dict.fromkeys(filter(None, near))][:_MAX_NAMED_FIELDS]
    if words.rule not in _OF_CAUSES:
        return []
    return [path for path in dict.fromkeys(cause.path for cause in matching) if field.find(path) is not None][:_MAX_NAMED_FIELDS]


_OTHER: Final = KnownMessage(
    "other-refusal",
    "a refusal of a field, in words that no rule here has",
    "",
    "A webhook, or the API server, refused the value of the field. If the field has a page, it is below.",
    "Run `dynamo-webhooks check FILE` on the refused file: it lists every mistake that it finds, with its line and what to do.",
    None,
)


def _other_pages(causes: Iterable[Cause], *, alone: bool) -> list[Page]:
    """Advice for causes that match no rule, with the page of each field; `alone`: the refusal has no other page."""
    pages = [page for cause in causes if (page := _field_page(cause)) is not None][:_MAX_NAMED_FIELDS]
    return [_OTHER.page, *pages] if pages or (alone and any(cause.kinds and cause.path for cause in causes)) else []


def _field_page(cause: Cause) -> Page | None:
    """The page of the field of a cause, or of the nearest one around it; None if the text is no refusal of a field."""
    if f"{cause.path}: " not in cause.text:
        return None
    kind = f"{next(iter(cause.kinds))}." if len(cause.kinds) == 1 else ""
    steps = cause.steps[:_MAX_STEPS]
    ends = range(len(steps), min(len(steps), 2) - 1, -1)
    return next((page for end in ends if (page := field.find(kind + ".".join(steps[:end]))) is not None), None)


def _sentence_page(sentence: RuleMessage) -> Page:
    """The page of a rule of the definitions."""
    places = [f"{kind}/{version} `{'.'.join(path) or '.'}`" for kind, version, path in sentence.locations]
    shown = ", ".join(places[:_MAX_LOCATIONS])
    more = f" and {len(places) - _MAX_LOCATIONS} more" if len(places) > _MAX_LOCATIONS else ""
    return {
        "message": CEL_RULE.name,
        "words": sentence.text,
        "meaning": f"A rule of the definition, which the API server evaluates itself. It applies to {shown}{more}.",
        "remedy": "Write the object so that the sentence holds.",
        "rules": field.summarize_rules([CEL_RULE]),
        "fields": [],
    }
