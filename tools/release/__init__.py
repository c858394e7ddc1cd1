"""Makes the files of a release from a tagged commit, the same bytes each time: `make release`."""
