#include "base/rank_label.hpp"

namespace muster {

std::string rank_label(std::uint64_t rank, std::string_view task) {
  auto label = "rank " + std::to_string(rank);
  if (!task.empty() && task != "worker:" + std::to_string(rank))
    label.append(" (").append(task).append(")");
  return label;
}

}  // namespace muster
