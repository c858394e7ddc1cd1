"""By which line of the operator a run judges, and how it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.cli.check.result import JudgedBy
from dynamo_webhooks.policies.facts import UNKNOWN
from dynamo_webhooks.policies.review import V1_2, line_of

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.policies.facts import Facts


def judged_by(arguments: argparse.Namespace, given: Facts, known: Facts) -> JudgedBy:
    """The line, and what told it; `given` are the facts without those of a cluster, `known` with them."""
    return JudgedBy(str(line_of(known, arguments.profile)), _told(arguments, given, known))


def _told(arguments: argparse.Namespace, given: Facts, known: Facts) -> str:
    if arguments.profile == V1_2:
        return "profile 1.2"
    if arguments.line is not None:
        return "the project file" if "line" in arguments.laid else "--line"
    if known.operatorLine is not UNKNOWN:
        return "the fact operatorLine" if given.operatorLine is not UNKNOWN else "the cluster's definitions"
    if known.operatorVersion is UNKNOWN:
        return "the default"
    version = known.operatorVersion.removeprefix("v")
    between = version.startswith(("1.3", "1.4")) and not version[3:4].isdigit()
    return f"operatorVersion {known.operatorVersion}" + ("; 1.3 and 1.4 count as 1.2" if between else "")
