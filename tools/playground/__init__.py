"""The playground: a page in which the commands for files run, as Python in WebAssembly."""
