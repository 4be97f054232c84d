"""Clients of the workload, by kind. Each runs in a process of its own until SIGTERM, and writes a history."""
