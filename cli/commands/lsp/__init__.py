"""The command `lsp`: a language server for editors."""
