"""Rules and defaults, one file each; evaluator, facts, answer and catalogue; pure."""
