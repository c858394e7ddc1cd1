"""Facts that rules ask for: from files and flags (`load`), or from a cluster (`cluster`) as a facts file (`text`)."""
