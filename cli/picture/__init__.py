"""Pictures of graphs: what is to be drawn of an object, as Mermaid, and as SVG alone or in a page."""
