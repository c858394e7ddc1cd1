"""The type of a service, which the schema of v1beta1 checks."""

from typing import Final

from ..at import At, Findings
from ..components import LPX
from ..finding import Mend
from ..review import is_line_1_6
from ..rule import COMPONENT_V1ALPHA1, Stage, differs, rule

# `default` has no rules of its own, but is a word of the operator that it accepts
_KNOWN: Final = ("frontend", "worker", "prefill", "decode", "planner", "epp", "default")


@differs("a misspelled type escapes the rules and defaults of the intended type", lacking=True)
@rule("DYN907", where=COMPONENT_V1ALPHA1, when=f"componentType!={','.join(_KNOWN)}", stage=Stage.ADVICE)
def warn_component_type_unknown(at: At) -> Findings:
    """The operator doesn't know a component's type.

    Why
        The type determines command, ports, probes and rules. It is case-sensitive, so `Worker` or `EPP` is a custom type without any of
        these.

    Fix
        Write frontend, worker, prefill, decode, planner or epp, or leave the type out if you want a plain component. Since operator 1.5, a
        type can't change: delete a graph that exists and create it again.

    Example
         spec:
           services:
        -    worker:
        -      componentType: Worker  # expect
        +    worker: {componentType: worker}
        +    other: {componentType: ""}
    """
    kind = at.value["componentType"]
    if kind and not (kind == LPX and is_line_1_6(at.review)):
        meant = kind.strip().lower()
        fix = f"write {meant}" if meant in _KNOWN else ""
        yield at.warning("componentType", f'is not a known component type, got "{kind}"', fix=fix, mend=Mend(meant) if fix else None)
