"""What the objects are: kinds, versions, models, structural schemas, field paths, quantities; no I/O but reading our own data files."""
