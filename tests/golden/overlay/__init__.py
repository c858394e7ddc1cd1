"""The verdicts and defaults of the Go operator 1.2 to the letter, laid over the rules of this project for comparisons."""
