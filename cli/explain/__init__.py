"""What `explain` knows: rules, kinds, field paths and server messages, as data and as Markdown."""
