"""The coordination client muster.Agent. The modules are internal; `muster` exports the public names."""
