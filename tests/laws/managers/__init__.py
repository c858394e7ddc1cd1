"""A law for field managers: a model of server-side apply in two versions, and what must hold of it. No API server is run here."""
