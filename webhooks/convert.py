"""What a ConversionReview is answered. Conversion is not served yet: every well-formed review is answered with a failure that says so."""

from __future__ import annotations

from typing import Final

import orjson

from webhooks.envelope import NAME_LENGTH, Answer, RejectedError, Verdict, load, rejection

VERSIONS: Final = ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")
NOT_SERVED: Final = "conversion is not served by this version of dynamo-webhooks"


def answer(body: bytes) -> Answer:
    """Answers one request body; a review's failure carries its uid, so that the API server reports the sentence as it is."""
    try:
        _, _, version, uid = load(body, "ConversionReview", VERSIONS)
    except RejectedError as error:
        return rejection(error.status, error.sentence)
    # the API server reads the list even of a failure
    result = {"status": "Failure", "code": 501, "reason": "NotImplemented", "message": NOT_SERVED}
    response = {"uid": uid, "convertedObjects": [], "result": result}
    out = orjson.dumps({"apiVersion": version, "kind": "ConversionReview", "response": response})
    return Answer(200, out, Verdict("refused", 501, uid[:NAME_LENGTH], "CONVERT"))
