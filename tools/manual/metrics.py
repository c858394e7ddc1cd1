"""The metrics that the processes declare, as tables of docs/metrics.md."""

from collections.abc import Iterable, Iterator
from typing import Final

from dynamo_webhooks.certs import perform as provisioner
from dynamo_webhooks.kube.metrics import COUNTER, Declared
from dynamo_webhooks.reconciler.metrics import controller_runtime
from dynamo_webhooks.reconciler.metrics import meters as reconciler
from tools.manual.table import table

PROVISIONER: Final = tuple(provisioner.DECLARED.values())
RECONCILER: Final = (*reconciler.DECLARED, *controller_runtime.DECLARED)


def describe_metrics(metrics: Iterable[Declared]) -> str:
    """Name, type, labels and meaning of each."""
    return table("name | type | labels | meaning", map(_row, metrics))


def _row(each: Declared) -> Iterator[str]:
    yield f"`{each.samples[0] if each.type == COUNTER else each.name}`"
    yield each.type
    yield " ".join(f"`{label}`" for label in each.labels)
    bounds = " ".join(f"{bound:g}" if bound < 100_000 else f"{bound:.0f}" for bound in each.buckets or ())
    yield f"{each.text}; buckets {bounds}" if bounds else each.text
