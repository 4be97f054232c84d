// Device descriptions, which are exchanged when all tasks have provided them. Used only on the
// engine thread.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/core/api/blob.hpp"
#include "server/core/coordination/api/coordination_limits.hpp"
#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

class device_exchange {
 public:
  explicit device_exchange(task_index tasks) : brought_(tasks), names_(tasks) {}

  bool has(task_index t) const { return brought_[t].has_value(); }
  std::size_t count(task_index t) const { return brought_[t] ? brought_[t]->size() : 0; }
  /// Returns device names for display; see limits::device_names_max.
  std::vector<std::string> const& names(task_index t) const { return names_[t]; }
  /// REQUIRES: not has(t).
  void bring(task_index t, std::vector<blob> devices, std::vector<std::string> names = {},
             limits const& l = {}) {
    names.resize(std::min(names.size(), l.device_names_max));
    for (auto& n : names) n = shortened(n, l.device_name_bytes_max);
    brought_[t] = std::move(devices);
    names_[t] = std::move(names);
  }

  /// Concatenates the descriptions of all tasks, in the given order.
  void gather(std::vector<task_index> const& order) {
    auto all = std::make_shared<std::vector<blob>>();
    for (auto const t : order)
      if (brought_[t]) all->insert(all->end(), brought_[t]->begin(), brought_[t]->end());
    gathered_ = std::move(all);
  }
  /// Returns null before gather().
  std::shared_ptr<std::vector<blob> const> const& gathered() const { return gathered_; }

 private:
  std::vector<std::optional<std::vector<blob>>> brought_;
  std::vector<std::vector<std::string>> names_;
  std::shared_ptr<std::vector<blob> const> gathered_;
};

}  // namespace muster::core::coordination
