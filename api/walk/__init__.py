"""The structural walk: prunes, defaults and validates objects as the API server does from a kind's schema, offline."""
