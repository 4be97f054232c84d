// The memory of workers in which large values lie, and what the hub knows of it, as the simulation
// sees them: who holds a value goes with its process, a copy comes to the server after ten seconds
// or when it is asked for, what nobody names any more is dropped, and three seconds after its last
// holder has gone a value is lost. Its books say that a running closure has its inputs, or that
// these are being made again, or cannot be for a reason that is true.
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
  /// What that process has made; each time it has another name.
  core::blob make(core::blob const& args, std::uint64_t process);
  void gone(std::uint64_t process);

  enum class place : std::uint8_t { here, awaited, never };
  /// An attempt that runs with the value as its input.
  struct user {
    core::stream_id stream{};
    core::closure_id closure{};
    std::uint32_t attempt = 0;
  };
  /// Has it made again.
  place look(core::blob const& value, user const& by);
  /// Throws where the server hands out a name of nothing.
  void check_there(std::string_view value) const;
  /// Values that somebody has.
  std::size_t size() const { return values_.size(); }

 private:
  struct kept {
    std::set<std::uint64_t> by;  // processes
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
  std::map<std::string, kept> values_;  // by the text that is the value
  std::map<core::closure_id, std::string> named_by_;
  std::map<std::string, core::closure_id> maker_;  // of all names, also of those that are gone
  std::map<std::string, std::string> dead_;        // and why
  std::map<core::closure_id, core::time_point> asked_;
  std::set<std::string> copied_;  // closures of which the server ever had one
};

/// The arguments say that the value is large.
bool makes_large(core::blob const& args);
core::blob large_args(core::blob const& args);
/// The same, or made by the same closure again.
bool same_value(std::string_view a, std::string_view b);

}  // namespace muster::simulation
