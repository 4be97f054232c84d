"""The coordination client muster.Agent. Internal, except for the names that `muster` exports."""
