"""How two versions say the same: lenses, one declaration per kind, the remainder codec, and the engine that knows none of them."""
