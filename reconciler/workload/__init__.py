"""What passes over graphs, components and checkpoints share: orchestrator, pods, pull secrets, prerequisites."""
