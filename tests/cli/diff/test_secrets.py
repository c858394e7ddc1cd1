"""What may be a secret is hidden, and what isn't stays readable."""

from typing import Any

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.cli.commands.diff.secrets import HIDDEN, is_secret_name, mask_secrets
from tests.rows import run_each

SECRET = "s3cr3t-value"  # noqa: S105 - what the tests look for


NAMES = "HF_TOKEN PASSWORD DB_PASSWD AWS_SECRET_ACCESS_KEY OPENAI_API_KEY apiKey x-key MY_KEY DSN credentials DB_PWD"


@run_each("name", NAMES.split())
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)
    assert mask_secrets([{"name": name, "value": SECRET}]) == [{"name": name, "value": HIDDEN}]
    assert mask_secrets(SECRET, ("env", Key(name), "value")) == HIDDEN
    assert mask_secrets({name: SECRET}, ("metadata", "annotations")) == {name: HIDDEN}
    assert mask_secrets(SECRET, ("metadata", "annotations", Key(name))) == HIDDEN


@run_each("name", ["MODEL", "TOKENIZER", "tokenizer-path", "MONKEY", "KEYBOARD", "AUTHOR", "PATH", "COMPASS"])
def test_names_of_other_things(name: str) -> None:
    assert mask_secrets([{"name": name, "value": "plain"}]) == [{"name": name, "value": "plain"}]


@run_each(
    "text",
    [
        f"--api-key={SECRET}",
        f"--api-key {SECRET} --model x",
        f"HF_TOKEN={SECRET} python3 -m x",
        f'export PASSWORD="{SECRET} {SECRET}"',
        f"--password '{SECRET} {SECRET}'",
        f"Authorization: Bearer {SECRET}",
        f'{{"password": "{SECRET}"}}',
        f'{{\\"password\\": \\"{SECRET}\\"}}',
        f"postgres://user:{SECRET}@host/db",
        f"redis://:{SECRET}@host",
        f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----",
        f"token: {SECRET}",
        f"Server=db;Pwd={SECRET};User=me",
        f"password: {SECRET},{SECRET}"[: -len(SECRET) - 1],
    ],
)
def test_secrets_inside_of_texts(text: str) -> None:
    assert SECRET not in mask_secrets(text)
    assert HIDDEN in mask_secrets(text)
    assert SECRET not in str(mask_secrets({"args": [text]}))


def test_a_secret_may_look_like_a_flag() -> None:
    assert mask_secrets([{"name": "HF_TOKEN", "value": f"-{SECRET}"}]) == [{"name": "HF_TOKEN", "value": HIDDEN}]
    assert mask_secrets(f"-{SECRET}", ("env", Key("HF_TOKEN"), "value")) == HIDDEN


def test_an_argument_behind_a_flag() -> None:
    assert mask_secrets(["--hf-token", SECRET, "--model", "m"]) == ["--hf-token", HIDDEN, "--model", "m"]
    assert mask_secrets(["--max-num-batched-tokens", "8192"]) == ["--max-num-batched-tokens", "8192"]
    assert mask_secrets(["--token", "--model"]) == ["--token", "--model"]
    assert mask_secrets(SECRET, ("args", 1), secret=True) == HIDDEN


@run_each(
    ("path", "value"),
    [
        (("spec", "envFromSecret"), "team-secret"),
        (("env", Key("HF_TOKEN"), "valueFrom", "secretKeyRef", "name"), "hf"),
        (("env", Key("HF_TOKEN"), "valueFrom", "secretKeyRef", "key"), "token"),
        (("imagePullSecrets", Key("pull-secret"), "name"), "pull-secret"),
        (("volumes", Key("v"), "secret", "secretName"), "hf"),
        (("tolerations", 0, "key"), "nvidia.com/gpu"),
        (("spec", "maxTokens"), 8192),
        (("spec", "automountServiceAccountToken"), False),
        (("command",), "python3 -m dynamo.vllm --max-num-batched-tokens 8192 --tokenizer /models/x"),
        (("image",), "nvcr.io/nvidia/vllm@sha256:0123"),
        (("command",), "--token $HF_TOKEN"),
        (("x",), None),
        (("spec", "password"), ""),
    ],
)
def test_what_only_names_a_secret_stays(path: tuple[Any, ...], value: Any) -> None:
    assert mask_secrets(value, path) == value


def test_a_long_text_takes_no_time() -> None:
    assert len(mask_secrets("token " * 100_000)) > 100_000
    assert len(mask_secrets("a:" * 200_000)) == 400_000
    assert len(mask_secrets("://" + "a" * 200_000)) == 200_003
