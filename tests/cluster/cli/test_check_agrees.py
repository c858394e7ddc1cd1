"""`check` and a real API server with our definitions and webhooks agree: accepted or refused, at which stage, for which fields, with which
words and warnings. Creates and updates, in both versions, in the author's own files.

Every kind is served in every version, converted and judged by our servers, registered as our manifests do it.
"""

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import NEWEST, OLDEST, Line
from dynamo_webhooks.api.models.constraints import ALL
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.cli.validation.levels import CEL, CONVERSION, DECODE, ERROR, POLICIES, SCHEMA
from dynamo_webhooks.policies.checks import UNFILLED
from tests.cluster.admission import FACTS, Admission, register, serving, wait_until_all_are_asked
from tests.cluster.assets.build import KUBERNETES, USUAL
from tests.cluster.conversion import KINDS as CONVERTED
from tests.cluster.definitions import install
from tests.cluster.harness import ADMIN, ControlPlane, Reply
from tests.cluster.planes import Planes
from tests.cluster.writes import Write, examples, generated, placed, recorded, schema_cases

Node: TypeAlias = dict[str, Any]
# One server is cluster-wide and has all. The other one is for one namespace, and has neither Grove nor GPU discovery.
NARROW: Final = {**FACTS, "operatorScope": "namespace", "grove": False, "gpuDiscovery": False}
LINES: Final = [pytest.param(line, marks=[] if line == NEWEST else pytest.mark.nightly) for line in Line if line > OLDEST]
STAGES: Final = frozenset({"", DECODE, SCHEMA, CEL, POLICIES})
# Sentences of Go's own that ours say in other words, and values that we don't quote, or not at their full length: here stage, status and
# fields are compared alone.
OTHER_WORDS: Final = (
    "no such overload",
    "json: cannot unmarshal",
    "RFC 1123",
    "accessor error",
    "a valid label must",
    "no more than 63 characters",
    "of type integer,string",
    "value: {",
    "value: [",
    "Q" * 201,
)
UNPLACED: Final = "<nil>"
CONNECTIONS: Final = 4
LINE_OBJECTS: Final = int(os.environ.get("LINE_OBJECTS", "15"))  # `make nightly` tries 150, so that a line has 2,000 writes
LABEL: Final = "dynamo-webhooks.test/judged-by"
_RULES: Final = tuple(constraint.message for constraint in ALL)
_WEBHOOK: Final = re.compile(r'admission webhook "[^"]*" denied the request: ')


class Said(NamedTuple):
    """What the server answers to a write; `stage` is the first that refuses, empty where none does, and named as `check` names it."""

    status: int
    stage: str
    reason: str
    message: str
    causes: tuple[tuple[str, str], ...]  # (field, message)
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judges:
    """The plane, and the servers that judge namespaces, by the value of the label that chooses them."""

    plane: ControlPlane
    servers: dict[str, Admission]

    def register(self, name: str, server: Admission) -> None:
        """Has namespaces with the label of that name judged by a server."""
        self.servers[name] = server
        register(self.plane, server, name, {LABEL: name})

    def namespace(self, name: str) -> str:
        """A new namespace that the server of that name judges."""
        return self.plane.namespace({LABEL: name})

    def judge(self, namespace: str, name: str) -> None:
        """Has a namespace, whose objects nobody judged so far, judged from now on."""
        labels = {"metadata": {"labels": {LABEL: name}}}
        self.plane.request("PATCH", f"/api/v1/namespaces/{namespace}", labels, kind="application/merge-patch+json").done()
        wait_until_all_are_asked(self.plane, self.servers[name], namespace)

    def stored(self, writes: Sequence[Write]) -> list[Write]:
        """Creates the old objects, and keeps the writes whose old object a server can hold, with its version in them."""
        return [write._replace(version=version) for write, version in zip(writes, _shared(writes, self._store), strict=True) if version]

    def answers(self, writes: Sequence[Write], *, strict: bool) -> list[Said]:
        """Asks for each write as a dry run, a few at once."""
        query = f"?dryRun=All&fieldValidation={'Strict' if strict else 'Warn'}"
        return _shared(writes, lambda write: _said(self._sent("POST" if write.old is None else "PUT", write.path + query, write)))

    def _store(self, write: Write) -> str:
        """The version of the old object once it is stored with its status; empty where no server takes it."""
        assert write.old is not None
        old = Write("", write.old, user=ADMIN)
        reply = self._sent("POST", f"{old.path}?fieldValidation=Ignore", old)
        if reply.status == 201 and write.old.get("status"):
            path = f"{old.path}/{reply.body['metadata']['name']}/status?fieldValidation=Ignore"
            reply = self._sent("PUT", path, old._replace(object={**reply.body, "status": write.old["status"]}))
        return reply.body["metadata"]["resourceVersion"] if reply.status < 400 else ""

    def _sent(self, method: str, path: str, write: Write) -> Reply:
        """Sends as a user who may do everything."""
        return self.plane.request(method, path, write.body, acting=write.user)


def _shared(writes: Sequence[Write], ask: Callable[[Write], Any]) -> list[Any]:
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        return list(threads.map(ask, writes))


def _said(reply: Reply) -> Said:
    if reply.status < 400:
        return Said(reply.status, "", "", "", (), reply.warnings)
    message, details = reply.body["message"], reply.body.get("details") or {}
    causes = tuple((cause.get("field", ""), cause.get("message", "")) for cause in details.get("causes", []))
    return Said(reply.status, _stage(reply.status, message, causes), reply.body.get("reason", ""), message, causes, reply.warnings)


def _stage(status: int, message: str, causes: tuple[tuple[str, str], ...]) -> str:
    """Which stage of a server refuses: webhooks name themselves, and rules of a schema speak in sentences that we know."""
    if _WEBHOOK.match(message):
        return DECODE if status == 400 else POLICIES
    if "conversion webhook for" in message:
        return CONVERSION
    if status == 400:
        return DECODE
    ruled = causes and all(any(rule in text for rule in _RULES) for _, text in causes)
    return CEL if ruled else SCHEMA


def dotted(field: str) -> str:
    """A field with dots for brackets, and none at its beginning: an API server has three spellings of a path, `check` has one."""
    return re.sub(r"\[([^]]*)\]", r".\1", field).removeprefix(".")


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Where each server has its facts."""
    return {name: tmp_path_factory.mktemp(name) for name in ("wide", "narrow")}


@pytest.fixture(scope="module")
def judges(planes: Planes, homes: dict[str, Path]) -> Iterator[Judges]:
    """The plane, and both servers that judge, of which one converts, too."""
    with planes.lend() as plane, serving(homes["wide"], FACTS) as wide, serving(homes["narrow"], NARROW) as narrow:
        install(plane, *(crd(kind.name, conversion=wide.stanza() if kind.name in CONVERTED else None, line=Line.V1_2) for kind in KINDS))
        judging = Judges(plane, {})
        judging.register("wide", wide)
        judging.register("narrow", narrow)
        yield judging


def _called(metadata: Node) -> str:
    name = metadata.get("name")
    return name if isinstance(name, str) and name else "t"


def _offline(writes: Sequence[Write], folder: Path, *words: str) -> dict[int, tuple[Node, list[Node]]]:
    """What the command says of each write: its answer and its findings that refuse. One run for each user."""
    users: dict[str, list[int]] = defaultdict(list)
    for index, write in enumerate(writes):
        users[write.user].append(index)
    results: dict[int, tuple[Node, list[Node]]] = {}
    for number, (user, indexes) in enumerate(users.items()):
        here = folder / str(number)
        for part in ("new", "old"):
            (here / part).mkdir(parents=True)
        for index in indexes:
            (here / "new" / f"{index}.json").write_text(json.dumps(writes[index].object))
            if (old := writes[index].old) is not None:
                (here / "old" / f"{index}.json").write_text(json.dumps(old))
        old_words = ["--old", str(here / "old")] if any(writes[index].old for index in indexes) else []
        report = here / "report.json"
        code = main(["check", str(here / "new"), "--answer", "-q", "-o", f"json={report}", "--as", user, *old_words, *words])
        assert code in (0, 1), report.read_text()[-2000:]
        results.update(_by_file(json.loads(report.read_text()), {index for index in indexes if _is_uncertain(writes[index])}))
    assert len(results) == len(writes)
    return results


def _is_uncertain(write: Write) -> bool:
    """Whether `check` only warns of what the definition refuses: that of v1beta2 is known from its documentation alone."""
    return str(write.object.get("apiVersion")).endswith("/v1beta2")


def _by_file(report: Node, uncertain: Collection[int]) -> dict[int, tuple[Node, list[Node]]]:
    def number(row: Node) -> int:
        return int(row["file"].rpartition("/")[2].removesuffix(".json"))

    refusing: dict[int, list[Node]] = defaultdict(list)
    for finding in report["findings"]:
        if (
            finding["level"] == ERROR
            or finding["rule"] == UNFILLED.name
            or (finding["stage"] in (SCHEMA, CEL) and number(finding) in uncertain)
        ):
            # one mistake is one finding; a server names it once more in its own stage
            refusing[number(finding)] += [finding, *finding.get("also", ())]
    return {number(answer): (answer, refusing[number(answer)]) for answer in report["answers"]}


def _difference(theirs: Said, answer: Node, findings: list[Node]) -> Iterator[str]:
    """What the command says otherwise than the server."""
    if (answer["status"], answer["stage"]) != (theirs.status, theirs.stage):
        yield f"{answer['status']} {answer['stage']} {answer['message']}"
        return
    if sorted(answer["warnings"]) != sorted(theirs.warnings):
        yield f"warnings {answer['warnings']}, not {theirs.warnings}"
    if not theirs.stage:
        if refusing := [finding for finding in findings if finding["level"] == ERROR]:
            yield f"findings {refusing}"
        return
    stages = {SCHEMA, CEL, DECODE} if theirs.stage in (SCHEMA, CEL) else {theirs.stage}
    ours = {dotted(finding["path"]) for finding in findings if finding["stage"] in stages}
    fields = {dotted(field) for field, _ in theirs.causes} - {UNPLACED}
    # rules that read a placeholder wait
    waiting = any(finding["rule"] == UNFILLED.name for finding in findings)
    if not waiting and (not ours or (fields and ours != fields)):
        yield f"fields {sorted(ours)}, not {sorted(fields)}"
    if KUBERNETES == USUAL and not any(words in theirs.message for words in OTHER_WORDS) and not _same_words(theirs, answer["message"]):
        yield f"message {answer['message']!r}"


def _same_words(theirs: Said, message: str) -> bool:
    """Whether two messages are the same; a server lists several errors of the schema, and unknown fields of some parts, in any order."""
    if message == theirs.message or len(message) != len(theirs.message):
        return message == theirs.message
    if theirs.stage == DECODE:
        return sorted(re.split(r", |(?<=error): ", message)) == sorted(re.split(r", |(?<=error): ", theirs.message))
    return theirs.stage in (SCHEMA, CEL) and all(f"{field}: {text}" in message for field, text in theirs.causes)


def _compare(writes: Sequence[Write], answers: Sequence[Said], results: dict[int, tuple[Node, list[Node]]]) -> Counter[str]:
    """Fails with the smallest disagreements; returns how many writes each stage refused."""
    wrong: list[tuple[int, str]] = []
    for index, (write, theirs) in enumerate(zip(writes, answers, strict=True)):
        for difference in _difference(theirs, *results[index]):
            text = json.dumps({"object": write.object, "old": write.old})
            wrong.append((len(text), f"{write.name}: the server {theirs}\n  check: {difference}\n  {text[:1500]}"))
    assert not wrong, f"{len(wrong)} disagreements of {len(writes)} writes:\n" + "\n".join(text for _, text in sorted(wrong)[:5])
    return Counter(theirs.stage for theirs in answers)


class Source(NamedTuple):
    """Where writes come from, who judges them, and what must be among them."""

    make: Callable[[], Iterator[Write]]
    judge: str
    strict: bool
    least: int
    stages: frozenset[str]


CREATES: Final = {
    "examples": Source(examples, "wide", False, 500, STAGES - {DECODE}),
    "recorded": Source(partial(recorded, 4), "narrow", False, 350, STAGES),
    "schema": Source(partial(schema_cases, 3), "wide", True, 800, STAGES),
    "generated": Source(partial(generated, 35), "wide", True, 700, STAGES),
}
UPDATES: Final = {
    "examples": Source(examples, "narrow", False, 100, frozenset({"", SCHEMA, POLICIES})),
    "recorded": Source(partial(recorded, 5), "wide", True, 150, frozenset({"", SCHEMA, CEL, POLICIES})),
}


@pytest.mark.parametrize("source", CREATES.values(), ids=CREATES)
def test_creates_are_judged_alike(judges: Judges, homes: dict[str, Path], tmp_path: Path, source: Source) -> None:
    namespace = judges.namespace(source.judge)
    writes = [placed(write, namespace, _called) for write in source.make() if write.old is None]
    _agree(judges, source, writes, tmp_path, homes)


@pytest.mark.parametrize("source", UPDATES.values(), ids=UPDATES)
def test_updates_are_judged_alike(judges: Judges, homes: dict[str, Path], tmp_path: Path, source: Source) -> None:
    """The old object is stored before anybody judges, so that it may be what today's rules would refuse."""
    namespace = judges.plane.namespace()
    updates = enumerate(write for write in source.make() if write.old is not None)
    writes = judges.stored([placed(write, namespace, partial(_numbered, number)) for number, write in updates])
    judges.judge(namespace, source.judge)
    _agree(judges, source, writes, tmp_path, homes)


@pytest.mark.parametrize("line", LINES)
def test_generated_objects_are_judged_alike_on_each_line(planes: Planes, tmp_path: Path, line: Line) -> None:
    """LINE_OBJECTS is the number of objects of each kind and version, of which each is damaged once, too."""
    home, facts = tmp_path / "serve", {**FACTS, "operatorVersion": f"{line}.0", "lpx": True, "checkpoint": True}
    with planes.lend() as plane, serving(home, facts) as server:
        kinds = (kind for kind in KINDS if kind.since <= line)
        install(plane, *(crd(kind.name, conversion=server.stanza() if kind.name in CONVERTED else None, line=line) for kind in kinds))
        judges = Judges(plane, {})
        judges.register("wide", server)
        source = Source(partial(generated, LINE_OBJECTS, line), "wide", True, 10 * LINE_OBJECTS, frozenset({"", SCHEMA}))
        namespace = judges.namespace(source.judge)
        writes = [placed(write, namespace, _called) for write in source.make()]
        _agree(judges, source, writes, tmp_path, {"wide": home})


def _agree(judges: Judges, source: Source, writes: Sequence[Write], folder: Path, homes: dict[str, Path]) -> None:
    words = ["--facts", str(homes[source.judge] / "facts.yaml")]
    results = _offline(writes, folder, *words, f"--validate={'strict' if source.strict else 'warn'}")
    counted = _compare(writes, judges.answers(writes, strict=source.strict), results)
    assert len(writes) >= source.least
    assert source.stages <= set(counted), counted


def _numbered(number: int, _: Node) -> str:
    """A name of its own: updated objects are stored side by side."""
    return f"u{number}"
