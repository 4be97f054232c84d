// How people read the rank of a program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

/// Returns "rank 3", or "rank 3 (ps:0)" with a task that is not worker:3. A task such as "worker:3"
/// alone would be taken for the Muster worker of that name.
std::string rank_label(std::uint64_t rank, std::string_view task);

}  // namespace muster
