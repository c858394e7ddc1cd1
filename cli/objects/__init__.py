"""Objects of our kinds: as written in documents, as a server would hold them, and as they were stored before."""
