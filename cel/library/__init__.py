"""The functions of the language, a module for each kind; `cel.overloads` says which names each has."""
