"""Prints what this tree answers to each recorded request, a line each: trees with compiled modules and without must print the same."""

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import orjson
import yaml

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.webhooks.access_log import access_line
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import CONVERT, Route, find_route
from tests.golden.corpus import corpus_file, lines

LIST: Final = 40  # objects of a list: with fewer more lists succeed


def asked() -> Iterator[tuple[str, Route, bytes, Settings]]:
    """All recorded requests, as an API server sends them."""
    facts = {each: yaml.safe_load(corpus_file(f"context-{each}.yaml").read_text()) for each in ("A", "B", "C", "15")}
    settings = {each: Settings(facts_from(known)) for each, known in facts.items()}
    for name, context in (("golden.ndjson.gz", "A"), ("convert15.ndjson.gz", "15")):
        for case in lines(name):
            if case["kind"] == "admit":
                route, kind, request = find_route(case["path"]), "AdmissionReview", {"uid": case["id"], **case["request"]}
            else:
                request = {"uid": case["id"], "desiredAPIVersion": case["desired"], "objects": [case["object"]]}
                route, kind = CONVERT, "ConversionReview"
            assert route is not None, case["path"]
            review = {"apiVersion": f"{'admission' if kind[0] == 'A' else 'apiextensions'}.k8s.io/v1", "kind": kind, "request": request}
            yield f"{name} {case['id']}", route, orjson.dumps(review), settings[case.get("context", context)]
        yield from _in_lists(name, settings[context])


def _in_lists(name: str, settings: Settings) -> Iterator[tuple[str, Route, bytes, Settings]]:
    """The recorded conversions as lists, which are decoded object by object."""
    listed: dict[str, list[Any]] = {}
    for case in lines(name):
        if case["kind"] == "convert":
            listed.setdefault(case["desired"], []).append(case["object"])
    for desired, objects in listed.items():
        for start in range(0, len(objects), LIST):
            request = {"uid": f"{desired}-{start}", "desiredAPIVersion": desired, "objects": objects[start : start + LIST]}
            body = orjson.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})
            yield f"{name} {request['uid']}", CONVERT, body, settings


if __name__ == "__main__":
    for what, at, body, by in asked():
        found = answer(at, body, by)
        print(what, found.status, hashlib.sha256(found.body).hexdigest(), access_line("", at, found.verdict, 0.0), found.verdict.bound)
