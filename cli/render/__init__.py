"""The command `render`: children of objects in files, as the reconciler would apply them."""
