"""Variables on tasks: arrays that parameter servers hold, whole or in shards, and checkpoints of them. numpy
is imported when it is first used."""
