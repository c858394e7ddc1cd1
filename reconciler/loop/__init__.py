"""The loop that makes a cluster hold what `reconciler.render` says: queue, cache, writes, status. The process is in cli/."""
