"""The plan of a migration from a listing in a file: everything that needs no cluster."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from dynamo_webhooks.api.line import USUAL, Line
from dynamo_webhooks.cli.check.objects import objects
from dynamo_webhooks.cli.check.sources import documents
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.migrate.offline import REFUSED, TOO_BIG, noted
from dynamo_webhooks.cli.migrate.report import KindReport, Report
from dynamo_webhooks.cli.yaml.errors import InputError

if TYPE_CHECKING:
    from dynamo_webhooks.cli.migrate.options import Options


def judged(file: str, options: Options, line: Line | None) -> Report:
    """A report of the objects in a file. In which version they are stored it does not tell. Raises: UsageError when it can't be read."""
    report = Report(options.to, options.namespace, dry_run=True)
    kinds = {kind: KindReport(kind, "", options.to, [], [], moved=None, already_there=None) for kind in options.kinds}
    read = [*documents(file, "")]
    for wrong in read:
        if isinstance(wrong, InputError):
            raise UsageError(f"--from-file {wrong}")
    for found in objects([each for each in read if not isinstance(each, InputError)]):
        one = kinds.get(found.identity.kind)
        if one is None or not found.known or options.namespace not in ("", found.identity.namespace):
            continue
        one.objects += 1
        for note in noted(copy.deepcopy(found.data), options.to, line or USUAL):
            one.notes.add(note)
    for one in kinds.values():
        one.refused = one.notes.counts.get(REFUSED, 0)
        if TOO_BIG in one.notes.counts:
            many = one.notes.counts[TOO_BIG]
            report.blocked.append(f"{one.kind}: {many} objects would lose data in {options.to}: make them smaller first")
    report.kinds = [one for one in kinds.values() if one.objects]
    if not report.kinds:
        where = f" of namespace {options.namespace}" if options.namespace else ""
        report.warnings.append(f"--from-file {file}: must list objects{where} that are {' or '.join(kinds)}, and holds none")
    return report
