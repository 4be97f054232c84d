"""Serialization of callables, arguments and outputs. Internal."""
