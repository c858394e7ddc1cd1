"""What the pages of the commands say beside the flags: a few examples, and the exit codes that each can give."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

FILES: Final = Path(__file__).parent / "files"  # what the folder holds in which the examples are run


class Example(NamedTuple):
    """A line and what it is for. One that isn't run needs a cluster, waits for requests, or prints something else each time."""

    about: str
    line: str
    runs: bool = True


class Told(NamedTuple):
    """The hand-written part of one page: exit codes in their order, the examples, and where to read on."""

    codes: tuple[int, ...]
    examples: tuple[Example, ...]
    more: str = ""


MEANINGS: Final = {
    0: "fine",
    1: "findings, or a negative result",
    2: "wrong usage or configuration",
    3: "no Dynamo object (group nvidia.com) was found (`--allow-empty` makes it 0)",
    4: "some input could not be read or parsed (all others were still processed)",
    5: "with `--require-facts`: something could not be evaluated",
    6: "a cluster was asked for and could not be reached",
    70: "internal error; a command that reproduces it is printed",
    130: "interrupted",
}
# what 0 and 1 mean for a command where it is more than "fine" and "no"
ANSWERS: Final = {
    ("check", 0): "at least one object was checked, and nothing was found at or above the threshold of `--fail-on`",
    ("check", 1): "something was found at or above the threshold",
    ("default", 1): "with `--check`: something would change; or an object could not be defaulted or written",
    ("diff", 0): "nothing differs",
    ("diff", 1): "something differs, or can't be compared",
    ("test", 0): "every case is as expected",
    ("test", 1): "a case is not",
    ("convert", 1): "with `--check`: a file would change; or an object can't be converted or written",
    ("render", 1): "something can't be rendered; everything else is printed",
    ("review", 0): "the server allows or converts",
    ("review", 1): "the server refuses",
    ("certs", 1): "it isn't so, or can't be done",
    ("provision", 1): "with `--once`: not everything is ready",
    ("doctor", 0): "no error; there may be warnings",
    ("doctor", 1): "at least one error: requests fail, or will",
    ("serve", 0): "stopped by SIGTERM or SIGINT after a graceful drain",
    ("review", 4): "the file can't be read, or the server would answer it without a review",
}

TOLD: Final[dict[str, Told]] = {
    "serve": Told(
        (0, 2, 70),
        (
            Example(
                "On one machine, without a cluster: certificates of its own, facts from a file",
                "dynamo-webhooks serve --listen 127.0.0.1:9443 --self-signed --cert-dir certs --no-cluster --facts facts.yaml",
                runs=False,
            ),
            Example("In a pod: everything from its configuration", "dynamo-webhooks serve --config operator.yaml", runs=False),
        ),
        "[Install](../install.md), [configuration](../configuration.md), [metrics](../metrics.md).",
    ),
    "provision": Told(
        (0, 1, 2, 6, 70, 130),
        (
            Example("In a pod", "dynamo-webhooks provision --config operator.yaml", runs=False),
            Example("Once, as a job before the servers start", "dynamo-webhooks provision --config operator.yaml --once", runs=False),
        ),
        "[Certificates](../certificates.md).",
    ),
    "certs": Told(
        (0, 1, 2, 4, 6, 70),
        (
            Example("What is there, who trusts it, and how long", "dynamo-webhooks certs inspect --namespace dynamo-system", runs=False),
            Example("A new authority, which everybody trusts before it is used", "dynamo-webhooks certs rotate", runs=False),
            Example("Where a bundle is missing, without writing it", "dynamo-webhooks certs inject --dry-run", runs=False),
        ),
        "[Certificates](../certificates.md).",
    ),
    "reconcile": Told(
        (0, 2, 70, 130),
        (
            Example("In a pod", "dynamo-webhooks reconcile --config operator.yaml", runs=False),
            Example("What it would apply, without it", "dynamo-webhooks render deploy/chat.yaml --config operator.yaml | grep -c ^kind"),
        ),
        "[Reconciler](../reconciler.md); [default values of children](../defaults.md).",
    ),
    "check": Told(
        (0, 1, 2, 3, 4, 5, 6, 70, 130),
        (
            Example("A folder", "dynamo-webhooks check deploy"),
            Example("An update: what the stored object forbids", "dynamo-webhooks check deploy/chat.yaml --old stored.yaml"),
            Example("One line a finding, without the server's schema", "dynamo-webhooks check deploy -q --no-schema"),
            Example("What an API server would answer", "dynamo-webhooks check deploy/search.yaml --answer 2> /dev/null | tail -4"),
        ),
        "[Read a refusal](../refusals.md), [in CI](../ci.md), [a project file](../ci.md#a-project-file), [five sessions](../sessions.md), "
        "[all rules](../rules.md).",
    ),
    "default": Told(
        (0, 1, 2, 3, 4, 5, 70, 130),
        (
            Example("What would be filled in", "dynamo-webhooks default deploy/chat.yaml --facts facts.yaml"),
            Example("The same as a change of the file", "dynamo-webhooks default deploy/chat.yaml --facts facts.yaml -o diff"),
            Example("The patch that the server would send", "dynamo-webhooks default deploy/chat.yaml --facts facts.yaml -o patch"),
        ),
    ),
    "diff": Told(
        (0, 1, 2, 3, 4, 70, 130),
        (
            Example("What an update would change, and what it would be told", "dynamo-webhooks diff stored.yaml deploy/chat.yaml"),
            Example("Against a revision of git", "dynamo-webhooks diff main:deploy deploy", runs=False),
        ),
    ),
    "test": Told(
        (0, 1, 2, 3, 4, 5, 70, 130),
        (
            Example("A folder of cases, each named", "dynamo-webhooks test cases -v"),
            Example("Only those whose name holds a word", "dynamo-webhooks test cases -k small"),
        ),
    ),
    "convert": Told(
        (0, 1, 2, 3, 4, 70, 130),
        (
            Example("One file, printed", "dynamo-webhooks convert old.yaml --to v1beta1"),
            Example("Is everything converted?", "dynamo-webhooks convert deploy --to v1beta1 --check -q"),
            Example("Which field is which", "dynamo-webhooks convert --fields DynamoGraphDeploymentScalingAdapter"),
        ),
        "[The same field in both versions](../fields.md), [kinds of the first releases](../legacy.md).",
    ),
    "render": Told(
        (0, 1, 2, 3, 4, 70, 130),
        (
            Example("The children of one kind", "dynamo-webhooks render deploy/chat.yaml --only Service --facts facts.yaml | head -16"),
            Example("A file for each child", "dynamo-webhooks render deploy/chat.yaml --facts facts.yaml -d out"),
            Example("Which pods a change would restart, and why", "dynamo-webhooks render deploy --against origin/main", runs=False),
        ),
        "[Default values of children](../defaults.md).",
    ),
    "explain": Told(
        (0, 2, 70),
        (
            Example("A rule", "dynamo-webhooks explain replicas-non-negative --examples"),
            Example("A field, in either version", "dynamo-webhooks explain 'dgd.spec.services.*.failover.mode'"),
            Example(
                "A message, with or without the rule's name in it", "dynamo-webhooks explain 'spec.services[a].replicas: must be 0 or more'"
            ),
            Example("What an API server says", "dynamo-webhooks explain 'x509: certificate signed by unknown authority'"),
        ),
        "[Read a refusal](../refusals.md).",
    ),
    "rules": Told(
        (0, 2, 70),
        (
            Example("Those that look at a kind", "dynamo-webhooks rules --kind DynamoModel"),
            Example("All of them, for a program", "dynamo-webhooks rules -o json | head -12"),
        ),
        "[The catalogue as a page](../rules.md).",
    ),
    "config": Told(
        (0, 2, 70),
        (
            Example("What a file sets, among all that is in effect", "dynamo-webhooks config --config operator.yaml | grep -v default"),
            Example("A file of everything, to start from", "dynamo-webhooks config -o yaml | head -4"),
        ),
        "[All keys](../configuration.md).",
    ),
    "review": Told(
        (0, 1, 2, 4, 70),
        (
            Example("A recorded question, and the server's answer byte for byte", "dynamo-webhooks review review.json"),
            Example("What the answer means", "dynamo-webhooks review review.json --explain > /dev/null"),
        ),
        "[Read a refusal](../refusals.md).",
    ),
    "crds": Told(
        (0, 2, 4, 70),
        (
            Example("One kind", "dynamo-webhooks crds --kind dm | head -6"),
            Example("All, onto a cluster", "dynamo-webhooks crds | kubectl apply --server-side -f -", runs=False),
        ),
        "[Install](../install.md).",
    ),
    "facts": Told(
        (0, 2, 6, 70),
        (
            Example("Once a release, into a file beside the manifests", "dynamo-webhooks facts --cluster -o facts.yaml", runs=False),
            Example("Of another cluster, without its names", "dynamo-webhooks facts --cluster --context staging --redact", runs=False),
        ),
        "[In CI](../ci.md#facts-of-the-cluster).",
    ),
    "doctor": Told(
        (0, 1, 2, 6, 70),
        (
            Example("Is it well?", "dynamo-webhooks doctor", runs=False),
            Example("May it be taken away?", "dynamo-webhooks doctor --uninstall-check", runs=False),
        ),
        "[Doctor](../doctor.md).",
    ),
    "completion": Told(
        (0, 2, 70),
        (
            Example("For this shell", "source <(dynamo-webhooks completion bash)"),
            Example("For good", "dynamo-webhooks completion fish > dynamo-webhooks.fish"),
        ),
        "[Editors and shells](../editors.md).",
    ),
    "schema": Told(
        (0, 2, 70),
        (
            Example("What there is", "dynamo-webhooks schema | tail -14"),
            Example("For an editor", "dynamo-webhooks schema all > dynamo.schema.json"),
        ),
        "[Editors and shells](../editors.md).",
    ),
    "version": Told(
        (0, 2, 70),
        (
            Example("For a program", "dynamo-webhooks version", runs=False),
            Example("Which profiles there are", "dynamo-webhooks version | grep -A 3 profiles"),
        ),
    ),
}
