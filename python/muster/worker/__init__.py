"""Workers: attach to a server and run closures, in child processes or threads."""
