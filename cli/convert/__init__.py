"""Converting objects in files: documents of a text, what is said of the remainder, and the map of fields."""
