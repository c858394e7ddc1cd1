"""The command `render`: prints the children that the reconciler would apply."""
