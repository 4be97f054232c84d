"""A worker of torchrun: repeats all_reduce over gloo until the file given as argument exists for all workers."""
import json
import os
import pathlib
import sys

import torch
import torch.distributed as dist


def say(**event):
    sys.stdout.write(json.dumps(event) + '\n')  # one write, because torchrun's workers write unbuffered and in parallel
    sys.stdout.flush()


def main():
    may_end = pathlib.Path(sys.argv[1])
    dist.init_process_group('gloo')
    rank, size = dist.get_rank(), dist.get_world_size()
    steps = 0
    while True:
        told = torch.tensor([float(rank), float(may_end.exists())])
        dist.all_reduce(told)
        if told[0].item() != size * (size - 1) / 2:
            sys.exit(f'the sum of all ranks is {told[0].item()}')
        if steps == 0:
            say(trains={'rank': rank, 'size': size, 'pid': os.getpid(), 'agent': os.getppid(),
                        'restart': int(os.environ['TORCHELASTIC_RESTART_COUNT'])})
        steps += 1
        if told[1].item() == size:
            break
    dist.destroy_process_group()
    say(ended=rank)


main()
