"""A training step, over and over: batches go from pinned host memory to the rank's GPU, through a network of six layers, and back into it.

``step.py [STEPS [BATCH [WIDTH]]]``. Each rank has a network of its own; the ranks of a node begin together, after their warm-up.
A rank that sees several GPUs takes one by its rank. Prints the rate, and the loss at the beginning and at the end, in a line each.
"""

import os
import sys
import tempfile
import time

import torch

RANK_VARIABLES = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
SIZE_VARIABLES = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE")
WARM_UP = 5


def wait_for_all(rank: int, size: int) -> None:
    """Return when ``size`` ranks of this node have called it; the launcher, which all have as parent, names their meeting place."""
    if size > 1:
        place = os.path.join(tempfile.gettempdir(), f"nearfar-step-{os.getuid()}-{os.getppid()}")
        torch.distributed.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=size)
        torch.distributed.barrier()


def main() -> None:
    """Train on random samples."""
    steps, batch, width = [int(word) for word in sys.argv[1:4]] + [40, 2048, 4096][len(sys.argv) - 1 :]
    rank = next((int(os.environ[name]) for name in RANK_VARIABLES if name in os.environ), 0)
    size = next((int(os.environ[name].split("(")[0]) for name in SIZE_VARIABLES if name in os.environ), 1)
    if not torch.cuda.is_available():
        sys.exit("step.py: no GPU that PyTorch can use")
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.manual_seed(rank)
    layers = [part for _ in range(5) for part in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    network = torch.nn.Sequential(*layers, torch.nn.Linear(width, 1)).to(device)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    samples = [torch.randn(batch, width).pin_memory() for _ in range(2)]
    losses = []

    def step(number: int) -> None:
        given = samples[number % 2].to(device, non_blocking=True)
        loss = (network(given) - given.mean(dim=1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())  # waits for the GPU, as a loop that logs does

    for number in range(WARM_UP):
        step(number)
    wait_for_all(rank, size)
    began = time.perf_counter()
    for number in range(steps):
        step(number)
    rate = steps * batch / (time.perf_counter() - began)
    print(f"rank {rank}: {rate:.1f} samples/s\nrank {rank}: loss {losses[0]:.4f} to {losses[-1]:.4f}", flush=True)


if __name__ == "__main__":
    main()
