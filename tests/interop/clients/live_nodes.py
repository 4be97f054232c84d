"""get_live_nodes before and after a task was killed, in a cluster whose tasks are recoverable."""
from command_line import say, words
from jax_process import initialize, jax


def main():
    jax.config.update('jax_enable_recoverability', True)
    given = words()
    client = initialize(given)
    everyone = list(range(given.tasks))
    nodes = client.get_live_nodes(everyone)
    say(live=sorted(nodes))
    if isinstance(nodes, dict):  # since 0.8 the result has the incarnation of each node
        assert len(set(nodes.values())) == given.tasks, nodes
    half = [i for i in everyone if i % 2 == given.index % 2]
    say(half=sorted(client.get_live_nodes(half)))

    say(ready=True)  # one process is killed now; the others' answer waits until the death is noticed
    if given.index != given.tasks - 1:
        say(left=sorted(client.get_live_nodes(everyone)))
    else:
        client.blocking_key_value_get('never', 60_000)
    # A recoverable task can leave at any time.
    jax.distributed.shutdown()
    say(finished=True)


main()
