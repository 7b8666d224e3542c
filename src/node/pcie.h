// The physical ceiling of a PCI Express link.
#pragma once

#include <optional>

namespace nearfar {

// GB/s of payload in one direction, after line coding and packet headers: 24 bytes a packet for what the GPU writes (memory
// writes), 20 for what it reads (completions), payload of 256 bytes. Nothing where generation or width is unknown.
// Source: PCI Express Base Specification, transaction and data link layer headers.
std::optional<double> pcie_ceiling(std::optional<int> gen, std::optional<int> width, bool to_gpu);

}  // namespace nearfar
