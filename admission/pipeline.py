"""One write on its way through an API server with our webhooks: read, shaped, defaulted, held to the schema, judged, converted.

The stages are called in the order in which they stand; whoever needs only some calls those. Pure: no I/O and no clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.admission.defaults import Defaulted, defaulted
from dynamo_webhooks.admission.registration import MUTATED_ONCE, Purpose, read_as
from dynamo_webhooks.api.decode import decoder
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.admit import Shaped, shaped, with_status_of
from dynamo_webhooks.api.walk.default import default
from dynamo_webhooks.api.walk.object_meta import metadata_type_errors
from dynamo_webhooks.api.walk.validate import validate
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.policies.evaluate import deleting, evaluate
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CURRENT, UPDATE, Fields, Review

if TYPE_CHECKING:
    from dynamo_webhooks.api.walk.errors import FieldError
    from dynamo_webhooks.policies.finding import Finding


class Settings(NamedTuple):
    """What verdicts depend on beside the write; the same for all writes of a server or a run."""

    facts: Facts = Facts()
    profile: str = CURRENT


def prepared(obj: Fields, kind: str, version: str) -> tuple[FieldError, ...]:
    """Makes of an object what a server would hold, in place, or says what keeps it from being read."""
    errors = decoder(kind, version)(obj)
    if not errors:
        shaped(obj, kind, version)
    return errors


class OldError(ConversionError):
    """The stored object of an update can't be said in the version that rules read."""


class Admission:
    """One write; `object` is what has become of it after the stages that were called. The object that is given may be changed."""

    __slots__ = ("kind", "object", "old", "operation", "settings", "user", "version")

    def __init__(
        self, kind: str, version: str, operation: str, obj: Fields, old: Fields | None = None, *, user: str, settings: Settings
    ) -> None:
        """`version` is bare, the author's; `old` is the stored object in that version, which only an update has."""
        self.kind, self.version, self.operation = kind, version, operation
        self.object = obj
        self.old = old if operation == UPDATE else None
        self.user, self.settings = user, settings

    def decode(self) -> tuple[FieldError, ...]:
        """Values of another type than the webhooks read: they answer 400."""
        return decoder(self.kind, self.version)(self.object)

    def decode_metadata(self) -> tuple[FieldError, ...]:
        """Metadata of another type than the API server reads: it answers 400, and to the first one only."""
        return tuple(metadata_type_errors(self.object, load_schema(self.kind, self.version)))

    def shape(self) -> Shaped:
        """Sets the schema's defaults, drops what it doesn't know and nulls, and takes the stored object's status."""
        done = shaped(self.object, self.kind, self.version)
        with_status_of(self.object, self.old, self.kind)
        return done

    @property
    def mutated(self) -> bool:
        """Whether a mutating webhook is asked about this write."""
        return read_as(self.kind, Purpose.MUTATE) != "" and (self.operation != UPDATE or self.kind not in MUTATED_ONCE)

    def defaults(self) -> Defaulted:
        """What our defaults would change; nothing is changed here. Raises: ConversionError."""
        return defaulted(self.review())

    def mutate(self, *, schema: bool = True) -> None:
        """Applies our defaults and, with `schema`, the schema's once more to what they made. Raises: ConversionError."""
        before, self.object = self.object, self.defaults().object
        if schema and self.object is not before:
            default(self.object, load_schema(self.kind, self.version))

    def conform(self) -> list[FieldError]:
        """What the schema and its CEL rules refuse; an update is not blamed for what it didn't touch, as far as they allow for that."""
        return validate(self.object, load_schema(self.kind, self.version), self.old)

    @property
    def excluded(self) -> bool:
        """Whether another operator has leased the namespace, and judges its objects."""
        return self.settings.facts.excludes((self.object.get("metadata") or {}).get("namespace"))

    def judge(self, most: int | None = None, named: int | None = None) -> list[Finding]:
        """What the rules find, in the author's fields and words; nothing for a kind without rules.

        `most` bounds the findings while they are made, and `named` how many are put into the author's words, errors and others each.

        Raises: ConversionError where the version that rules read can't say the object, OldError where it can't say the stored one.
        """
        read, review = read_as(self.kind, Purpose.VALIDATE), self.review()
        if not read or deleting(review):
            return []
        if read == self.version:
            return evaluate(review, most)
        from dynamo_webhooks.admission.version_view import VersionView
        from dynamo_webhooks.conversion.bounds import require_whole

        view = VersionView(self.kind, self.version, read)
        require_whole(review.metadata, read)
        judged = view.judged(self.object)
        try:
            old = None if self.old is None else view.judged(self.old)
        except ConversionError as error:
            raise OldError(error.path, error.reason) from None
        asked = Review(f"{self.kind}/{read}", self.operation, judged, old, user=self.user, facts=review.facts, profile=review.profile)
        return view.findings(evaluate(asked, most), judged, self.object, named)

    def review(self) -> Review:
        """The question to the policies, in the author's version."""
        kind, (facts, profile) = f"{self.kind}/{self.version}", self.settings
        return Review(kind, self.operation, self.object, self.old, user=self.user, facts=facts, profile=profile)
