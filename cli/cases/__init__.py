"""Case files of `test`: objects with what is expected of them, so that platform teams pin the verdicts that they rely on."""
