"""Trains with PyTorch's DistributedDataParallel as the ranks of a program, or of `muster run`. Each process
has a part of the data, and all end with the same weights.

    muster launch --tasks 4 -- python3 data_parallel_torch.py
    muster run --nproc 4 -- python3 data_parallel_torch.py

It uses no Muster API: MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE configure torch.distributed.
"""
import torch
import torch.distributed


def main() -> None:
    torch.manual_seed(0)
    torch.distributed.init_process_group("gloo")
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(64, 8, generator=torch.Generator().manual_seed(rank))
    y = x @ torch.arange(8.0)[:, None]
    for _ in range(200):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
    weights = [round(w) for w in model.module.weight[0].tolist()]
    print(f"rank {rank} of {size}: loss {loss.item():.4f}, weights {weights}")


main()
