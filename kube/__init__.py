"""The only room that speaks to an API server: one seam, a client behind it, and what is built on the seam."""
