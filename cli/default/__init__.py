"""What the mutating webhooks would change in objects of files: named edits, patches, and new texts."""
