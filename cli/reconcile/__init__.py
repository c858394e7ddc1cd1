"""The reconciler as a process. What it does is the room `reconciler`'s."""
