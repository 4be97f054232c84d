// The simulated memory of workers for large values:
// - A value is lost three seconds after its last holder ended.
// - The server gets a copy after ten seconds, or when it asks for one.
// - A value that no closure names is dropped.
//
// The inputs of a running closure must exist or be recomputed, or have a valid reason to be lost.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/simulation/world.hpp"

namespace muster::simulation {

class model_memory {
 public:
  explicit model_memory(world& w) : world_(w) {}

  void start() { sweep(); }
  void perform(core::effects const& fx);
  /// Returns a new name for each call.
  core::blob make(core::blob const& args, std::uint64_t process);
  void gone(std::uint64_t process);

  enum class place : std::uint8_t { here, awaited, never };
  struct user {
    core::stream_id stream{};
    core::closure_id closure{};
    std::uint32_t attempt = 0;
  };
  /// Requests recomputation if the value is lost.
  place look(core::blob const& value, user const& by);
  /// Checks that a named value exists.
  void check_there(std::string_view value) const;
  std::size_t size() const { return values_.size(); }

 private:
  struct kept {
    std::set<std::uint64_t> by;  // process incarnations
    std::set<core::closure_id> named;
    core::time_point made{};
    core::time_point gone_at{};
    bool at_server = false;
  };

  void sweep();
  void learn(core::closure_id id);
  void unname(core::closure_id id);
  void copy(std::string const& name);
  void check_reason(std::string const& why) const;

  world& world_;
  std::uint64_t made_ = 0;
  std::map<std::string, kept> values_;  // by name
  std::map<core::closure_id, std::string> named_by_;
  std::map<std::string, core::closure_id> maker_;  // of deleted values, too
  std::map<std::string, std::string> dead_;        // with the reason
  std::map<core::closure_id, core::time_point> asked_;
  std::set<std::string> copied_;  // closures whose value the server ever had
};

bool makes_large(core::blob const& args);
core::blob large_args(core::blob const& args);
/// Returns true if the values are equal or were created by the same closure.
bool same_value(std::string_view a, std::string_view b);

}  // namespace muster::simulation
