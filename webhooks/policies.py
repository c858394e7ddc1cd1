"""Users' own policies in a running process: those in force, and problems with others."""

import hashlib
import logging
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import orjson

from ..kube.metrics import Values

_LOG: Final = logging.getLogger("policies")
MAX_PROBLEMS: Final = 20  # that are logged and reported one by one


def digest_documents(documents: Iterable[str]) -> str:
    """A short digest, by which replicas can be compared."""
    return hashlib.sha256("\n".join(documents).encode()).hexdigest()[:12]


class PolicySet(NamedTuple):
    """The content of a folder of policies."""

    documents: tuple[str, ...] = ()  # policies, Bindings, parameters and Namespaces, as JSON
    usable: int = 0  # policies that can be asked
    problems: tuple[str, ...] = ()  # a sentence for each thing that can't be used, with its place
    digest: str = digest_documents(())  # of the documents; computed where they are read, as each scrape reports it

    def gauges(self) -> dict[str, float | Values]:
        """The metrics, by name."""
        return {"policies": {(self.digest,): float(self.usable)}, "policy_problems": float(len(self.problems))}

    def log(self) -> None:
        """Logs the number and digest of the policies, and each problem as an error."""
        _LOG.warning("policies in force: %d, digest %s", self.usable, self.digest)
        for each in self.details()[1:]:
            _LOG.error("policies: %s", each)

    def details(self) -> list[str]:
        """Lines for people: the number and digest, then the problems."""
        more = len(self.problems) - MAX_PROBLEMS
        rest = [f"{more} more problems; `dynamo-webhooks policy test` lists all"] if more > 0 else []
        return [f"{self.usable} in force, digest {self.digest}", *self.problems[:MAX_PROBLEMS], *rest]


class Policies:
    """The policies in force in a process."""

    def __init__(self, current: PolicySet, on_change: Callable[[tuple[str, ...]], None] = lambda _: None) -> None:
        """`on_change` gets the documents of each newer set."""
        self.current, self._on_change = current, on_change
        current.log()

    def replace(self, printed: bytes) -> None:
        """Takes over the policies that a reader printed; if it failed, the earlier ones stay in force."""
        try:
            policies = orjson.loads(printed)
            self.current = PolicySet(tuple(policies["documents"]), policies["usable"], tuple(policies["problems"]), policies["digest"])
        except (ValueError, TypeError, KeyError):
            failed = "the policies have changed and could not be read; the earlier ones stay in force"
            self.current = self.current._replace(problems=(failed, *(each for each in self.current.problems if each != failed)))
        self._on_change(self.current.documents)
        self.current.log()
