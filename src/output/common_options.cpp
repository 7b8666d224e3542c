#include "output/common_options.h"

#include <set>

#include "core/error.h"
#include "node/node.h"

namespace nearfar {
namespace {

// As given, each a PCI address, and no device twice.
std::vector<std::string> pci_addresses(const std::string& text) {
    const std::vector<std::string> parts = list_value("--gpus", text);
    std::set<std::string> devices;
    for (const std::string& part : parts) {
        std::string device;
        try {
            device = normal_pci(part);
        } catch (const WrongUse& error) {
            throw WrongUse(std::string("--gpus: ") + error.what());
        }
        if (!devices.insert(device).second) throw WrongUse("--gpus: " + part + " stands twice");
    }
    return parts;
}

}  // namespace

Options with_common(Options own, CommonOptions& into, double& hang_seconds) {
    const Options common{
        {"--gpus", "PCI,PCI…", "PCI addresses of g0, g1 … (default: all GPUs in bus order)",
         [&](const std::string& text) { into.gpus = pci_addresses(text); }},
        {"--json", "[=FILE]", "print the measurement document (or write it to FILE) in place of the table",
         [&](const std::string& text) {
             into.json = true;
             into.json_file = text;
         }},
        seconds_option("--timeout", "so long without progress is a hang: what was measured is printed, exit 1 (default 30)",
                       hang_seconds),
        switch_option("--version", "print the version and exit", into.version),
        switch_option("--help", "print this and exit (also -h)", into.help)};
    own.insert(own.end(), common.begin(), common.end());
    return own;
}

Option even_if_busy_option(bool& field) {
    return switch_option("--even-if-busy", "measure GPUs that other processes use", field);
}

}  // namespace nearfar
