"""What users' rules read besides the object: parameters, namespaces, all documents of the input, and rendered pods."""

from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

from ...admission.userrules.evaluate import Around, UnknownError, Write, find_namespace, find_objects, known_facts, share_budget
from ...api.kinds import BY_NAME
from ...api.line import Line
from ...conversion.kinds import KINDS
from ...policies.facts import Facts
from ..objects.forms import FormError, convert
from ..objects.manifest import Fields
from .load import UserRules

Pods: TypeAlias = Callable[["Fields", Facts, "list[Fields]"], "list[Fields]"]  # of an object beside others; raises UnknownError


class Asked:
    """The users' rules of a run, and where what they read comes from."""

    def __init__(self, rules: UserRules, documents: Callable[[], list[Fields]], pods: Callable[[], Pods]) -> None:
        """`documents` reads all objects of the input as written, and raises UnknownError where a run sees a part of them.

        `pods` makes what renders them, on first use.
        """
        self.rules, self._read, self._find_pods = rules, documents, pods
        self._newest: dict[Line, list[Fields]] = {}
        self._around: tuple[Facts, Around] | None = None

    def around(self, facts: Facts) -> Around:
        """The known surroundings of an object in a cluster of these facts."""
        if self._around is None or self._around[0] is not facts:
            self._around = facts, self._made(facts)
        return self._around[1]

    def _made(self, facts: Facts) -> Around:
        def documents(_: object) -> list[Fields]:
            if facts.line not in self._newest:
                self._newest[facts.line] = [_newest(one, facts) for one in (*self.rules.objects, *self._documents)]
            return self._newest[facts.line]

        def pods(write: Write) -> list[Fields]:
            return [] if write.object is None else self._pods(write.object, facts, self._objects())

        known = known_facts(facts)
        more = {"documents": documents, "pods": pods, "facts": lambda _: known, "line": lambda _: str(facts.line)}
        return Around(self._namespace, self._params, more, frozenset(Facts._fields) - known.keys(), share_budget(self.rules.policies))

    @cached_property
    def _pods(self) -> Pods:
        return self._find_pods()

    @cached_property
    def _documents(self) -> list[Fields]:
        return self._read()

    def _objects(self) -> list[Fields]:
        """All known objects, those of rules-from alone where a run sees a part of its input."""
        try:
            return [*self.rules.objects, *self._documents]
        except UnknownError:
            return [*self.rules.objects]

    def _namespace(self, name: str) -> Fields:
        return find_namespace(self._objects(), name)

    def _params(self, version: str, kind: str) -> list[Fields]:
        return find_objects(self._objects(), version, kind)


def _newest(obj: Fields, facts: Facts) -> Fields:
    """A Dynamo object in the newest version of its kind; others, and what can't be converted, as written."""
    kind, version = obj.get("kind"), str(obj.get("apiVersion")).rpartition("/")[2]
    if not isinstance(kind, str) or kind not in KINDS or not BY_NAME[kind].has(version):
        return obj
    try:
        return convert(obj, BY_NAME[kind].versions[-1].name, facts.line)
    except FormError:
        return obj
