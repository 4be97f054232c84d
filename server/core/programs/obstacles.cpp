#include "server/core/programs/obstacles.hpp"

#include <algorithm>
#include <optional>

namespace muster::core::programs {
namespace {

std::optional<std::string> lacking_resource(program_spec const& spec,
                                            std::vector<room> const& rooms) {
  for (auto const& t : spec.tasks)
    for (auto const& need : t.resources) {
      auto const has = [&](room const& r) {
        return std::any_of(r.free.begin(), r.free.end(), [&](auto const& one) {
          return one.first == need.first && one.second >= need.second;
        });
      };
      if (std::none_of(rooms.begin(), rooms.end(), has))
        return need.first + "=" + std::to_string(need.second);
    }
  return {};
}

std::optional<std::string> lacking_labels(program_spec const& spec,
                                          std::vector<room> const& rooms) {
  for (auto const& t : spec.tasks) {
    auto const has = [&](room const& r) { return has_labels(r.labels, t.labels); };
    if (std::any_of(rooms.begin(), rooms.end(), has)) continue;
    std::string all;
    for (auto const& [name, value] : t.labels) {
      if (!all.empty()) all += ", ";
      all += name + "=" + value;
    }
    return all;
  }
  return {};
}

}  // namespace

obstacle obstacle_of(program_spec const& spec, std::vector<room> const& rooms,
                     std::vector<room> const& without_ports) {
  using enum obstacle::kind;
  if (auto what = lacking_resource(spec, rooms)) return {resource, std::move(*what)};
  if (auto what = lacking_labels(spec, rooms)) return {labels, std::move(*what)};
  if (!place(spec, without_ports).ranks.empty()) return {ports};
  auto anywhere = spec;
  anywhere.per_worker = 0;
  if (spec.per_worker > 0 && !place(anywhere, rooms).ranks.empty()) return {per_worker};
  return {};
}

}  // namespace muster::core::programs
