"""The reconciler's metrics."""
