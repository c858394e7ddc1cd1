"""Where texts come from and go to: files, folders, standard input, Git revisions and kustomizations."""
