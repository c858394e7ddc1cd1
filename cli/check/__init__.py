"""What `check` is made of: sources, objects, the pipeline of one object, suppression, and the reports."""
