"""Decides whether a graph runs on Grove, and explains why not."""

from typing import Final

from ..api.line import Line
from .annotations import DISAGGREGATED_OPT_IN, GROVE_OPT_OUT, WORKLOAD_PROVIDER
from .at import At
from .facts import UNKNOWN
from .review import CREATE, Review, is_line_1_5
from .words import quote_once

_STRATEGIES: Final = ("RollingRecreate", "OnDelete", "Coherent")
GROVE: Final = "grove"  # the providers of workloads
COMPONENTS: Final = "component"
DISAGGREGATED: Final = "disaggregatedset"


def list_grove_strategies(line: Line) -> tuple[str, ...]:
    """The update strategies that Grove knows, spelt as it does: since line 1.6 also one that replaces groups of pods together."""
    return _STRATEGIES if line >= Line.V1_6 else _STRATEGIES[:-1]


def list_providers(line: Line) -> tuple[str, ...]:
    """The workload providers, spelt as the annotation names them."""
    return (COMPONENTS, GROVE, DISAGGREGATED) if line >= Line.V1_7 else (COMPONENTS, GROVE)


def opts_out_of_grove(review: Review) -> bool:
    """Whether the graph's annotation keeps it off Grove; only `false`, in any case, does."""
    written = review.annotations.get(GROVE_OPT_OUT)
    return written is not None and len(written) == len("false") and written.lower() == "false"


def read_provider(at: At) -> str | None:
    """The workload provider in the graph's annotation, which operator 1.5 and later write; None without one.

    Needs the fact `grove` where the defaults of a new graph overwrite what its author wrote.
    """
    chosen = at.review.annotations.get(WORKLOAD_PROVIDER) if is_line_1_5(at.review) else None
    if chosen is not None and at.review.operation == CREATE and not opts_out_of_grove(at.review):
        at.fact("grove")
    return chosen


def choose_provider(at: At) -> str:
    """The workload provider of a new graph, decided once since operator 1.5. Needs the fact `grove` unless the graph opts out."""
    if not opts_out_of_grove(at.review) and at.fact("grove"):
        return GROVE
    opted_in = at.review.line >= Line.V1_7 and at.review.annotations.get(DISAGGREGATED_OPT_IN, "").lower() == "true"
    return DISAGGREGATED if opted_in else COMPONENTS


def provider(at: At) -> str | None:
    """The workload provider since operator 1.5; None for a graph of an older operator, which was not adopted yet."""
    chosen = read_provider(at)
    return choose_provider(at) if chosen is None and at.review.operation == CREATE else chosen


def default_provider(at: At) -> str | None:
    """The orchestrator that the defaults set: for a new graph the chosen one, whatever its annotation says, else the stored one."""
    if at.review.operation == CREATE:
        return choose_provider(at)
    stored = ((at.review.old or {}).get("metadata") or {}).get("annotations") or {}
    return read_provider(at) or (stored.get(WORKLOAD_PROVIDER) if is_line_1_5(at.review) else None)


def explain_off_grove(at: At) -> str:
    """Explains why this graph is not on the Grove pathway, as the end of a sentence; "" when it is on it. Needs the fact `grove`.

    The annotation of a graph that runs decides alone, so that an unknown fact does not matter then. That of a new graph was written by
    the defaults, so the cause of what they wrote is given.
    """
    chosen, opted_out = read_provider(at), opts_out_of_grove(at.review)
    if chosen == GROVE:
        return ""
    new = at.review.operation == CREATE
    if chosen is not None and not (new and (opted_out or at.review.facts.grove is False)):
        return f'the graph was created without Grove (annotation {WORKLOAD_PROVIDER}: "{quote_once(chosen)}")'
    if opted_out:
        if at.review.facts.grove is False:
            return explain_absence(at, "grove", "Grove")
        return f'the annotation {GROVE_OPT_OUT} is "{at.review.annotations[GROVE_OPT_OUT]}"'
    return "" if at.fact("grove") else explain_absence(at, "grove", "Grove")


def suggest_grove(at: At) -> str:
    """Fix text: how to move this graph to Grove."""
    steps = []
    if at.review.facts.grove is False:
        steps.append(suggest_install(at, GROVE, "Grove"))
    if opts_out_of_grove(at.review):
        steps.append(f"remove the annotation {GROVE_OPT_OUT}")
    if at.review.operation != CREATE and read_provider(at) is not None:
        steps.append("create the graph again")
    return " and ".join(steps) or "run the graph on Grove"


def component_off_grove(at: At) -> str:
    """Explain why a component, of a graph or alone, doesn't run on Grove."""
    return explain_off_grove(at) if at.review.kind.startswith("DynamoGraphDeployment/") else "a standalone component never runs on Grove"


def explain_absence(at: At, fact: str, name: str) -> str:
    """Explains in a sentence why something is not to be had, as a fact says."""
    off = at.review.facts.switchedOff
    if off is UNKNOWN:
        return f"{name} is not served, or is switched off in the operator"
    return f"{name} is switched off in the operator" if fact in off else f"{name} is not served by the cluster"


def suggest_install(at: At, fact: str, name: str) -> str:
    """Fix text for a missing API."""
    off = at.review.facts.switchedOff
    return f"switch {name} on in the operator" if off is not UNKNOWN and fact in off else f"install {name}"
