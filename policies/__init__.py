"""What is allowed: one file per rule and per default, the evaluator, facts, the answer, the catalogue; pure."""
