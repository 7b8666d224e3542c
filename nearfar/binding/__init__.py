"""Where the ranks of a node belong, and the launch lines that put them there.

A placement follows from a node and a layout alone; launch lines are rendered from ``site/templates/bind``. For example,
one rank beside each of Keeneland's three GPUs,
and two host ranks in every relation that the node allows:

>>> from nearfar.binding import Layout, pairs, place
>>> from nearfar.model.prediction import load_node_type
>>> from nearfar.base import site_directories
>>> node = load_node_type("keeneland", site_directories()).node
>>> for rank in place(node, Layout(ranks_per_gpu=1, threads_per_rank=2)):
...     print(rank.rank, rank.gpu, rank.nic, rank.cpus, rank.memory_nodes, rank.path)
0 0 mlx4_0 (0, 2) (0,) near
1 1 mlx4_0 (1, 3) (1,) near
2 2 mlx4_0 (5, 7) (1,) near
>>> pairs(node)
{'same_numa_node': (0, 0), 'across_packages': (0, 1)}
>>> [rank.cpus for rank in place(node, Layout(numa_nodes=pairs(node)["across_packages"], threads_per_rank=1))]
[(0,), (1,)]

``render("numactl", node, placements)`` is the text of a bash wrapper that binds a rank so, or refuses with exit code 2.

Needs: base, topology, cells, model.prediction.
"""

from . import launchers, scheme_names
from .cost import wrong_side
from .explanation import explain
from .launch_scripts import FORMS, SNIPPETS, render
from .launchers import LAUNCHERS, MPIS, Mpi
from .layout import SIDES, Layout
from .locality import cores_of, cpu_nodes, fabric_nics, gpu_home, memory_of, nearest
from .placement import Placement, place
from .rank_pairs import RELATIONS, pairs
from .schemes import evidence, parse_numa_nodes
