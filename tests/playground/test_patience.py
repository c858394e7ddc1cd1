"""The page ends a question that takes too long with a sentence, and answers the next one: its script in Node, with a worker that hangs."""

import json
import subprocess
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.browser

_ENGINE: Final = Path(__file__).parents[2] / "tools" / "playground" / "page" / "engine.js"
_SCRIPT: Final = """
let made = 0;
globalThis.Worker = class {
  constructor() { made += 1; setTimeout(() => this.onmessage({ data: { ready: true } }), 1); }
  postMessage(question) { if (question.text !== "hangs") setTimeout(() => this.onmessage({ data: { answer: question.text } }), 1); }
  terminate() { this.postMessage = () => {}; }
};
const wait = globalThis.setTimeout;
globalThis.setTimeout = (act, time) => wait(act, Math.min(time, 50));  // nobody waits for ten seconds here
const { Engine } = await import(process.argv[1]);
const heard = [];
const engine = new Engine((message, question) => {
  if (message.ready) return;
  heard.push(message.fatal ?? message.answer);
  if (question?.text === "hangs") engine.ask({ text: "next" });
  if (question?.text === "next") { console.log(JSON.stringify({ heard, made })); process.exit(0); }
});
engine.ask({ text: "hangs" });
wait(() => process.exit(1), 5000);
"""


def test_a_question_that_hangs_is_told_and_the_next_one_is_answered() -> None:
    words = ["node", "--input-type=module", "-e", _SCRIPT, str(_ENGINE)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "heard": ["This text takes more than 10 s; split it, or make its objects smaller.", "next"],
        "made": 2,
    }
