// Display names of ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

/// Returns "rank 3", or "rank 3 (ps:0)" if the task is not worker:3. A reader could mistake the
/// task name alone for a Muster worker.
std::string rank_label(std::uint64_t rank, std::string_view task);

}  // namespace muster
