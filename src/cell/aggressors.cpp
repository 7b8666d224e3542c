#include "cell/aggressors.h"

#include <set>

#include "cell/matrix.h"
#include "core/error.h"

namespace nearfar {

void require_aggressors(const std::vector<Cell>& aggressors, const Node& node) {
    std::set<std::string> named;
    for (const Cell& cell : aggressors) {
        const std::string option = "--aggressor " + cell.text() + ": ";
        const std::string absent = absent_endpoint(cell, node);
        if (!absent.empty()) throw WrongUse(option + absent);
        for (const Flow& flow : cell.flows) {
            if (flow.kernel != Kernel::none)
                throw WrongUse(option + "an aggressor copies from or to a GPU; STREAM is no background load");
            if (flow.threads)
                throw WrongUse(option + "an aggressor's tasks are processes: " + flow.text().substr(0, flow.text().rfind('/')));
            if (!named.insert(flow.text()).second)
                throw WrongUse(option + flow.text() + " is named twice; for two tasks on it use /x2");
        }
    }
}

}  // namespace nearfar
