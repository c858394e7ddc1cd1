"""Reasons for which the creation of an object would be refused."""

import copy
from collections.abc import Iterator
from typing import NamedTuple

from ...admission.pipeline import Admission, Settings
from ...api.paths import format_path
from ...conversion.lens.protocol import ConversionError
from ...policies.finding import Level
from ...policies.review import CREATE, Fields


class Refusal(NamedTuple):
    """One reason, and the code of the rule that gives it; empty for the schema and conversion."""

    text: str
    code: str = ""


def list_refusals(obj: Fields, version: str, settings: Settings) -> Iterator[Refusal]:
    """Why the creation of an object of a version would be refused, by the schema first, then by rules. The object stays as it is."""
    write = Admission(str(obj.get("kind")), version, CREATE, copy.deepcopy(obj), user="", settings=settings)
    if errors := (write.decode_metadata() or write.decode()):
        yield from (Refusal(f"{format_path(error.path)}: {error.message}") for error in errors)
        return
    write.shape()
    try:
        write.mutate()
        yield from (Refusal(f"{format_path(error.path)}: {error.message}") for error in write.conform())
        for finding in write.judge():
            if finding.level is Level.ERROR:
                yield Refusal(f"{format_path(finding.path)}: {finding.text}", finding.rule.code)
    except ConversionError as error:
        yield Refusal(f"{format_path(error.path)}: {error.reason}")
