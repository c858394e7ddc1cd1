"""The command `diff`: compares two sets of objects as a cluster would hold them."""
