"""What `check` refuses in converted files and did not refuse before: conversion must not break a good object without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.cli.check import record
from dynamo_webhooks.cli.check.objects import objects
from dynamo_webhooks.cli.check.pipeline import Settings, check_object
from dynamo_webhooks.cli.yaml.load import Document, Source, read
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.cli.check.record import Reported


def newly_refused(name: str, before: str, after: str, line: Line) -> list[str]:
    """A sentence for every error that the converted text of a file has and its own text had not, object by object.

    Conversion keeps the order of objects, so that the number of an object finds it again.
    """
    known = {(number, finding.rule) for number, finding in _errors(name, before, line)}
    return [
        f"{name}: {finding.identity}: check refuses what it was converted to: {finding.about} ({finding.rule})"
        for number, finding in _errors(name, after, line)
        if (number, finding.rule) not in known
    ]


def _errors(name: str, text: str, line: Line) -> Iterator[tuple[int, Reported]]:
    settings = Settings(Facts(operatorLine=line))
    documents = (one for one in read(Source(name, text)) if isinstance(one, Document))
    for number, found in enumerate(objects(documents)):
        for finding in check_object(found, CREATE, None, settings).findings:
            if finding.level == record.ERROR:
                yield number, finding
