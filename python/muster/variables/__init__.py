"""Variables on tasks: arrays that parameter servers hold, either whole or in shards, and checkpoints of variables.
numpy is imported only when it is first used.
"""
