// A visit as one rank tells it to another.
#pragma once

#include "core/message.h"
#include "kernels/level_one/visit.h"

namespace nearfar {

Message message_of(const KernelVisit& visit);
KernelVisit visit_in(const Message& message);

}  // namespace nearfar
