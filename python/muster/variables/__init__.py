"""Variables on tasks, and checkpoints of variables. Variables are arrays that parameter servers hold, either whole or
in shards. numpy is imported only at its first use.
"""
