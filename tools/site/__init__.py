"""The pages of the site that `make site` builds: those of docs/, with an address for each rule, command, field and configuration key."""
