"""How two versions say the same: lenses, one declaration per kind, the remainder codec; empty until conversion lands."""
