// What of a link's line rate can be payload in one direction, in GB/s. The same rules as in nearfar/model/prediction/ceilings.py,
// against the same vectors (tests/vectors/ceilings.txt); sources in benchmarks/studies/prediction.md, "Ceilings of links". And what a
// GPU's memory can carry of copies.
#pragma once

#include <optional>

namespace nearfar {

// PCI Express, generations 1 to 6, after line coding and what surrounds a packet's payload, in either
// direction. Nothing where generation or width is unknown.
std::optional<double> pcie_ceiling(std::optional<int> gen, std::optional<int> width);

// So many NVLink lanes of generations 1 to 5. Of generation 5 nobody states what is payload: the most that it can be. Nothing where the
// generation is unknown or there is no lane.
std::optional<double> nvlink_ceiling(std::optional<int> gen, int lanes);

// What a memory moves at `kilohertz` twice a cycle over `bits`. Nothing where either is not known.
std::optional<double> memory_ceiling(std::optional<int> kilohertz, std::optional<int> bits);

// What a kernel moves that reads and writes so many arrays over a link that carries `in` and `out` at once, in both directions together.
// Nothing where a direction that it needs is not known.
std::optional<double> kernel_ceiling(int reads, int writes, std::optional<double> in, std::optional<double> out);

// Copies within a GPU's memory, each byte of which is read and written: half of what the memory moves at `kilohertz` twice a cycle
// over `bits`. Nothing where either is not known.
std::optional<double> memory_copy_ceiling(std::optional<int> kilohertz, std::optional<int> bits);

}  // namespace nearfar
