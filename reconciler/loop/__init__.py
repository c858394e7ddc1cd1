"""The loop that applies what `reconciler.render` renders: queue, cache, writes, status. The process is in cli/."""
