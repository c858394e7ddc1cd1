"""Reports objects that occur twice in a run."""

from collections.abc import Iterator, Sequence
from typing import Final

from ....policies.checks import DUPLICATE
from ....policies.review import DELETE
from ...validation.finding import LocatedFinding, report_own
from ...validation.levels import DECODE, WARNING
from .result import Checked

_RENDERED: Final = ("kustomize:", "helm:", "cluster:")  # sources that are no files; each holds what one place applies


def duplicates(checked: Sequence[Checked]) -> Iterator[LocatedFinding]:
    """A finding for each object that occurred before: with its namespace, or in the same folder or text."""
    seen: dict[tuple[object, ...], Checked] = {}
    for one in checked:
        if one.name is None or one.operation == DELETE:
            continue
        places = _places(one)
        before = next((seen[place] for place in places if place in seen), None)
        if before is not None:
            where = f"{before.source.name}:{before.line}"
            text = f"must name one object, and {where} has the same kind and name; of both, the one applied last stays"
            yield report_own(DUPLICATE, WARNING, DECODE, one.source, one.name, one.identity, "metadata.name", text)
        for place in places:
            seen.setdefault(place, one)


def _places(one: Checked) -> list[tuple[object, ...]]:
    """Where an object would meet another one of its name; those for other clusters it meets nowhere."""
    name, identity = one.source.name, one.identity
    if name.startswith(_RENDERED):
        return [(name, identity)]
    folder = name.rpartition("/")[0]
    return [("folder", folder, identity), *([("namespace", one.cluster, identity)] if identity.namespace else [])]
