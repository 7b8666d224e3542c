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
        if (!devices.insert(device).second) throw WrongUse("--gpus: " + part + " is named twice");
    }
    return parts;
}

}  // namespace

Options with_common(Options own, CommonOptions& into) {
    const Options common{
        {"--gpus", "PCI,PCI…", "PCI addresses of g0, g1 … (default: all GPUs in bus order)",
         [&](const std::string& text) { into.gpus = pci_addresses(text); }},
        {"--json", "[=FILE]", "print the measurement as JSON instead of the table, or write it to FILE",
         [&](const std::string& text) {
             into.json = true;
             into.json_file = text;
         }},
        seconds_option("--timeout", "stop after this time without progress, with the results so far and exit code 1 (default 30)",
                       into.hang_seconds),
        switch_option("--version", "print the version and exit", into.version),
        switch_option("--help", "print this text and exit (also -h)", into.help)};
    own.insert(own.end(), common.begin(), common.end());
    return own;
}

Option even_if_busy_option(bool& field) {
    return switch_option("--even-if-busy", "measure GPUs that other processes use", field);
}

}  // namespace nearfar
