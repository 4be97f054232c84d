"""How callables, arguments and outputs are written down. Private."""
