// Durable jobs with a server that is killed at any moment; see killable_server.hpp. Invariants:
// - An acknowledged job exists.
// - A reported state of a closure, or end of a job, never changes.
// - A value belongs to its own closure.
// - A closure keeps its options and inputs.
// - At the end of the run everything has ended.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/journal/killed_world.hpp"

namespace muster::server::journal {

class restart_world final : public killed_world {
 public:
  explicit restart_world(std::uint64_t seed);

 private:
  struct known_closure {
    std::string args;
    bool told = false;
    core::closure_state state{};
    std::string value;
    std::size_t inputs = 0;
  };
  struct known_job {
    std::vector<core::closure_id> closures;
    bool open = false;
    bool deleted = false;  // requested by the client
    bool ended = false;    // reported to the client
    core::time_point finished{};
  };

  void live() override;
  void check_known() override;
  void act();
  void submit();
  void append();
  void ask_for_a_value();
  void ask_for_an_end();
  void cancel_or_delete();
  void heal();
  void check_the_end();

  std::vector<core::closure_spec> some_closures();
  core::session_id some_job(bool open);
  void remember(core::session_id job, std::vector<core::closure_id> const& ids,
                std::vector<core::closure_spec> const& specs);
  void told(core::closure_id id, core::closure_state state, std::string value);

  std::uint64_t last_args_ = 0;

  std::map<core::session_id, known_job> jobs_;
  std::map<core::closure_id, known_closure> closures_;
};

}  // namespace muster::server::journal
