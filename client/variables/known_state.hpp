// The variables that a coordinator has made or found, and checkpoints of them. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "muster/detail/variable_core.hpp"

namespace muster::detail {

class known_variables {
 public:
  void add(std::shared_ptr<variable_core const> v);
  /// Writes all of them. Errors: std::invalid_argument (one has no name), those of calls and of the
  /// disk.
  std::uint64_t save(std::string const& path, std::optional<std::uint32_t> keep);
  /// Loads all of them from the newest whole checkpoint. Nothing: there is none. Errors:
  /// std::invalid_argument (none is whole, or it has not all of them: then nothing was loaded),
  /// those of calls.
  std::optional<std::uint64_t> restore(std::string const& path);

 private:
  using all = std::map<std::string, std::shared_ptr<variable_core const>>;

  all listed();

  std::mutex turn_;   // held by who saves or restores
  std::mutex mutex_;  // protects all below
  all named_;         // as many as the program has given names
  std::vector<std::weak_ptr<variable_core const>> unnamed_;
};

}  // namespace muster::detail
