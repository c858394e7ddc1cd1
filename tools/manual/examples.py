"""Examples and exit codes for the pages of the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

FILES: Final = Path(__file__).parent / "files"  # the folder in which the examples run


class Example(NamedTuple):
    """A command and its purpose. One that isn't run needs a cluster, waits for requests, or has varying output."""

    about: str
    line: str
    runs: bool = True


class Told(NamedTuple):
    """The hand-written part of one page: exit codes, examples, and links."""

    codes: tuple[int, ...]
    examples: tuple[Example, ...]
    more: str = ""


MEANINGS: Final = {
    0: "success",
    1: "findings, or a negative result",
    2: "wrong usage or configuration",
    3: "no Dynamo object (group nvidia.com) found; 0 with `--allow-empty`",
    4: "unreadable input; all others were processed",
    5: "with `--require-facts`: facts are missing",
    6: "cluster unreachable",
    70: "internal error, with a command that reproduces it",
    130: "interrupted",
}
# more specific meanings, by command
ANSWERS: Final = {
    ("check", 0): "at least one object was checked, without findings at or above `--fail-on`",
    ("check", 1): "findings at or above `--fail-on`",
    ("default", 1): "an object could not be defaulted or written; with `--check`, something would change",
    ("diff", 0): "nothing differs",
    ("diff", 1): "something differs or can't be compared",
    ("test", 0): "every case passed",
    ("test", 1): "a case failed",
    ("convert", 1): "an object can't be converted or written; with `--check`, a file would change",
    ("render", 1): "something can't be rendered; the rest is printed",
    ("review", 0): "the server allows or converts",
    ("review", 1): "the server refuses",
    ("certs", 1): "not valid, or not possible",
    ("provision", 1): "with `--once`: not everything is ready",
    ("migrate", 0): "all objects are stored in the version, which is proven; with `--dry-run`, nothing speaks against it",
    ("migrate", 1): "not begun, or objects were refused, or it is not proven; the report says why",
    ("migrate", 6): "cluster unreachable for as long as `--patience`",
    ("migrate", 130): "stopped by SIGTERM or SIGINT after the writes under way; run it again to go on",
    ("doctor", 0): "no error; there may be warnings",
    ("doctor", 1): "at least one error: requests fail, or will",
    ("serve", 0): "stopped by SIGTERM or SIGINT after a graceful drain",
    ("crds", 1): "with `--cluster`: the definitions lack fields or versions that the cluster's have; nothing is printed",
    ("review", 4): "unreadable file, or the server would answer without a review",
}

TOLD: Final[dict[str, Told]] = {
    "serve": Told(
        (0, 2, 70),
        (
            Example(
                "Without a cluster, with its own certificates and facts from a file",
                "dynamo-webhooks serve --listen 127.0.0.1:9443 --self-signed --cert-dir certs --no-cluster --facts facts.yaml",
                runs=False,
            ),
            Example("In a pod", "dynamo-webhooks serve --config operator.yaml", runs=False),
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
            Example("Certificates, trust and expiry", "dynamo-webhooks certs inspect --namespace dynamo-system", runs=False),
            Example("A new authority", "dynamo-webhooks certs rotate", runs=False),
            Example("Missing bundles, without writing them", "dynamo-webhooks certs inject --dry-run", runs=False),
        ),
        "[Certificates](../certificates.md).",
    ),
    "reconcile": Told(
        (0, 2, 70, 130),
        (
            Example("In a pod", "dynamo-webhooks reconcile --config operator.yaml", runs=False),
            Example("What it would apply", "dynamo-webhooks render deploy/chat.yaml --config operator.yaml | grep -c ^kind"),
        ),
        "[Reconciler](../reconciler.md); [default values of children](../defaults.md).",
    ),
    "check": Told(
        (0, 1, 2, 3, 4, 5, 6, 70, 130),
        (
            Example("A folder", "dynamo-webhooks check deploy"),
            Example("An update of a stored object", "dynamo-webhooks check deploy/chat.yaml --old stored.yaml"),
            Example("As updates of a cluster's objects", "dynamo-webhooks check deploy --cluster", runs=False),
            Example("While you edit", "dynamo-webhooks check deploy --watch", runs=False),
            Example("As a page for a browser", "dynamo-webhooks check deploy -o html=report.html", runs=False),
            Example("One line a finding, without the server's schema", "dynamo-webhooks check deploy -q --no-schema"),
            Example("The API server's response", "dynamo-webhooks check deploy/search.yaml --answer 2> /dev/null | tail -4"),
        ),
        "[Read a refusal](../refusals.md), [in CI](../ci.md), [a project file](../ci.md#a-project-file), [six sessions](../sessions.md), "
        "[all rules](../rules.md).",
    ),
    "default": Told(
        (0, 1, 2, 3, 4, 5, 70, 130),
        (
            Example("Defaults, edit by edit", "dynamo-webhooks default deploy/chat.yaml --facts facts.yaml"),
            Example("As a diff of the file", "dynamo-webhooks default deploy/chat.yaml --facts facts.yaml -o diff"),
            Example("As the server's patch", "dynamo-webhooks default deploy/chat.yaml --facts facts.yaml -o patch"),
        ),
    ),
    "diff": Told(
        (0, 1, 2, 3, 4, 6, 70, 130),
        (
            Example("An update, and the response to it", "dynamo-webhooks diff stored.yaml deploy/chat.yaml"),
            Example("Against a Git revision", "dynamo-webhooks diff main:deploy deploy", runs=False),
            Example("What an apply would change in a cluster", "dynamo-webhooks diff deploy --cluster", runs=False),
        ),
    ),
    "test": Told(
        (0, 1, 2, 3, 4, 5, 70, 130),
        (
            Example("A folder of cases", "dynamo-webhooks test cases -v"),
            Example("Only cases whose name contains a word", "dynamo-webhooks test cases -k small"),
        ),
    ),
    "convert": Told(
        (0, 1, 2, 3, 4, 70, 130),
        (
            Example("One file, to stdout", "dynamo-webhooks convert old.yaml --to v1beta1"),
            Example("Is everything converted?", "dynamo-webhooks convert deploy --to v1beta1 --check -q"),
            Example("Corresponding fields", "dynamo-webhooks convert --fields DynamoGraphDeploymentScalingAdapter"),
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
    "picture": Told(
        (0, 1, 2, 3, 4, 70, 130),
        (
            Example("A flowchart for Markdown", "dynamo-webhooks picture deploy/chat.yaml"),
            Example("A picture in a file", "dynamo-webhooks picture deploy/chat.yaml -o svg > chat.svg"),
            Example("What a change does", "dynamo-webhooks picture deploy --against origin/main -o html", runs=False),
        ),
    ),
    "explain": Told(
        (0, 2, 70),
        (
            Example("A rule", "dynamo-webhooks explain replicas-non-negative --examples"),
            Example("A field, in either version", "dynamo-webhooks explain 'dgd.spec.services.*.failover.mode'"),
            Example("A message of a rule", "dynamo-webhooks explain 'spec.services[a].replicas: must be 0 or more'"),
            Example("A message of the API server", "dynamo-webhooks explain 'x509: certificate signed by unknown authority'"),
        ),
        "[Read a refusal](../refusals.md).",
    ),
    "rules": Told(
        (0, 2, 70),
        (
            Example("Rules of one kind", "dynamo-webhooks rules --kind DynamoModel"),
            Example("All rules as JSON", "dynamo-webhooks rules -o json | head -12"),
        ),
        "[The catalogue as a page](../rules.md).",
    ),
    "config": Told(
        (0, 2, 70),
        (
            Example("Values that a file sets", "dynamo-webhooks config --config operator.yaml | grep -v default"),
            Example("A complete file", "dynamo-webhooks config -o yaml | head -4"),
        ),
        "[All keys](../configuration.md).",
    ),
    "review": Told(
        (0, 1, 2, 4, 70),
        (
            Example("The server's response to a recorded review", "dynamo-webhooks review review.json"),
            Example("The meaning of the response", "dynamo-webhooks review review.json --explain > /dev/null"),
        ),
        "[Read a refusal](../refusals.md).",
    ),
    "crds": Told(
        (0, 1, 2, 4, 6, 70),
        (
            Example("One kind", "dynamo-webhooks crds --kind dm | head -6"),
            Example("All, to a cluster", "dynamo-webhooks crds --cluster | kubectl apply --server-side -f -", runs=False),
        ),
        "[Install](../install.md).",
    ),
    "facts": Told(
        (0, 2, 6, 70),
        (
            Example("Facts for the repository", "dynamo-webhooks facts --cluster -o facts.yaml", runs=False),
            Example("Facts of another cluster, without names", "dynamo-webhooks facts --cluster --context staging --redact", runs=False),
        ),
        "[In CI](../ci.md#facts-of-the-cluster).",
    ),
    "migrate": Told(
        (0, 1, 2, 6, 70, 130),
        (
            Example("What would happen", "dynamo-webhooks migrate --to v1beta1 --dry-run", runs=False),
            Example("Move everything, at most 50 objects a second", "dynamo-webhooks migrate --to v1beta1 --rate 50", runs=False),
            Example("Prove it again later", "dynamo-webhooks migrate --to v1beta1 --verify", runs=False),
            Example("The way back", "dynamo-webhooks migrate --to v1alpha1", runs=False),
            Example("Annotations of older operators in today's form", "dynamo-webhooks migrate --rewrite --dry-run", runs=False),
        ),
        "[Migration](../migration.md).",
    ),
    "doctor": Told(
        (0, 1, 2, 6, 70),
        (
            Example("Check an installation", "dynamo-webhooks doctor", runs=False),
            Example("Prepare a removal", "dynamo-webhooks doctor --uninstall-check", runs=False),
        ),
        "[Doctor](../doctor.md).",
    ),
    "lsp": Told(
        (0, 2, 70),
        (Example("What an editor runs", "dynamo-webhooks lsp --facts facts.yaml", runs=False),),
        "[Editors](../editors.md).",
    ),
    "completion": Told(
        (0, 2, 70),
        (
            Example("For this shell", "source <(dynamo-webhooks completion bash)"),
            Example("Permanently", "dynamo-webhooks completion fish > dynamo-webhooks.fish"),
        ),
        "[Editors and shells](../editors.md).",
    ),
    "schema": Told(
        (0, 2, 70),
        (
            Example("All schemas", "dynamo-webhooks schema | tail -14"),
            Example("For an editor", "dynamo-webhooks schema all > dynamo.schema.json"),
        ),
        "[Editors and shells](../editors.md).",
    ),
    "version": Told(
        (0, 2, 70),
        (
            Example("Versions as JSON", "dynamo-webhooks version", runs=False),
            Example("Profiles", "dynamo-webhooks version | grep -A 3 profiles"),
        ),
    ),
}
