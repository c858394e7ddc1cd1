"""The stages of one write through an API server with this project's webhooks: decode, shape, default, validate the schema, judge.

Call them in the order of their definition; some may be left out. Pure: no I/O and no clock.
"""

from typing import NamedTuple

from ..api.decode import decoder
from ..api.line import Line
from ..api.schema import Node, load_schema
from ..api.walk.admit import Shaped, with_status_of
from ..api.walk.admit import shape as shaped
from ..api.walk.default import default
from ..api.walk.errors import FieldError
from ..api.walk.metadata import metadata_type_errors
from ..api.walk.validate import validate
from ..policies.facts import Facts
from ..policies.finding import Finding
from ..policies.review import UPDATE, Fields, Review
from .judging import ObjectDefaults, compute_defaults, judge
from .new_pods import NewPods
from .ownership import OwnerAnswer, judge_owner
from .registration import MUTATED_ONCE, Purpose, find_rule_version


class Settings(NamedTuple):
    """Everything besides the write that verdicts depend on; the same for all writes of a server or a run."""

    facts: Facts = Facts()
    new_pods: NewPods = NewPods()  # of the webhook of pods, which judges none
    policies: tuple[str, ...] = ()  # users' own, with bindings and parameters, as JSON
    site: str = ""  # the address of the documentation, which causes of refusals name

    @property
    def line(self) -> Line:
        """The line of the operator to judge by."""
        return self.facts.line


def decode_and_shape(obj: Fields, kind: str, version: str, line: Line) -> tuple[FieldError, ...]:
    """Shapes an object in place as a server does, or returns why it can't be read."""
    errors = decoder(kind, version)(obj)
    if not errors:
        shaped(obj, load_schema(kind, version, line))
    return errors


class Admission:
    """One write; `object` is the result of the stages called so far. They may change the object given."""

    __slots__ = ("_schema", "kind", "object", "old", "operation", "settings", "user", "version")

    def __init__(
        self,
        kind: str,
        version: str,
        operation: str,
        obj: Fields,
        old: Fields | None = None,
        *,
        user: str,
        settings: Settings,
        schema: Node | None = None,
    ) -> None:
        """`version` is the author's, without group; `old` is the stored object of an update in that version.

        `schema` is another than the kind's whole one, which also has the parts that definitions leave open.
        """
        self.kind, self.version, self.operation = kind, version, operation
        self.object = obj
        self.old = old if operation == UPDATE else None
        self.user, self.settings, self._schema = user, settings, schema

    @property
    def schema(self) -> Node:
        """The schema of the object, as the line judges by it."""
        return self._schema or load_schema(self.kind, self.version, self.settings.line)

    def decode(self) -> tuple[FieldError, ...]:
        """Values whose type the webhooks refuse with 400."""
        return decoder(self.kind, self.version)(self.object)

    def decode_metadata(self) -> tuple[FieldError, ...]:
        """Metadata whose type the API server refuses with 400; it reports only the first."""
        return tuple(metadata_type_errors(self.object, self.schema))

    def shape(self, *, nulls: bool = False) -> Shaped:
        """Set the schema's defaults, drop unknown fields and, but for `nulls`, nulls, and take the stored object's status."""
        done = shaped(self.object, self.schema, nulls=nulls)
        with_status_of(self.object, self.old, self.kind)
        return done

    @property
    def mutated(self) -> bool:
        """Whether a mutating webhook is called for this write."""
        return find_rule_version(self.kind, Purpose.MUTATE) != "" and (self.operation != UPDATE or self.kind not in MUTATED_ONCE)

    def defaults(self) -> ObjectDefaults:
        """Compute the webhook's defaults without applying them. Raises: ConversionError."""
        return compute_defaults(self.review())

    @property
    def owned(self) -> OwnerAnswer | None:
        """The verdict about a request that another version owns, or of v1beta2; None for objects with rules and defaults."""
        return judge_owner(self.kind, self.version, self.object, self.old)

    def mutate(self, *, schema: bool = True) -> None:
        """Apply the webhook's defaults and, with `schema`, the schema's to what they added. Raises: ConversionError."""
        if self.owned is not None:
            return
        before, self.object = self.object, self.defaults().object
        if schema and self.object is not before:
            default(self.object, self.schema)

    def conform(self) -> list[FieldError]:
        """Lists what the schema and its CEL rules refuse; unchanged parts of an update are tolerated as by the API server."""
        return validate(self.object, self.schema, self.old)

    @property
    def excluded(self) -> bool:
        """Whether another operator has claimed the namespace."""
        return self.settings.facts.excludes((self.object.get("metadata") or {}).get("namespace"))

    def judge(self, limit: int | None = None, max_named: int | None = None) -> list[Finding]:
        """The findings of the rules in the author's version, bounded and with errors as `judging.judge`; none for a kind without rules."""
        return judge(self.review(), limit, max_named)

    def review(self) -> Review:
        """The review for the policies, in the author's version."""
        kind = f"{self.kind}/{self.version}"
        return Review(kind, self.operation, self.object, self.old, user=self.user, facts=self.settings.facts)
