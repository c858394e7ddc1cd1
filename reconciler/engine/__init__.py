"""The control loop, whatever the kind: cache, queue, writes, and who may write where."""
