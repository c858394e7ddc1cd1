"""A repository of git in a folder, for tests of what compares with a revision."""

import os
import subprocess
from pathlib import Path


class Repository:
    """Runs git in a folder, with nobody's configuration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        who = {f"GIT_{role}_{what}": "x@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        self._environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        self("init", "-q", "-b", "main")

    def __call__(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.folder, env=self._environment, check=True, capture_output=True, text=True)
        return done.stdout

    def commit(self) -> None:
        """Commits everything as it is."""
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", "x", "--no-gpg-sign")
