"""Being a task of a cluster: see muster.Agent. Private but for its names in `muster`."""
