"""What is filled in where the author left it out; one file per default."""
