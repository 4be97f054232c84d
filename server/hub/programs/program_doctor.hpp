// Watches a hub's running programs for hanging ranks. Requests vitals and stacks from workers;
// doctor::hang_watch evaluates the answers. Steps:
//
//   runs ──► every quarter of hang_after: vitals ──► no progress: stacks, twice ──► hang found
//                                                                                     │
//                             log event; core::program_hangs, which applies on_hang ◄─┘
//
// Owned by a hub; used only on the engine thread. Input is evaluated later in tick(), so that the
// other functions can be called from within a step.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "server/core/api/effects.hpp"
#include "server/core/api/program_views.hpp"
#include "server/doctor/hang_watch.hpp"
#include "server/hub/programs/rank_stacks.hpp"

namespace muster::server {

class hub;

struct vitals_query {
  std::uint64_t number = 0;
  core::program_id program{};
  std::uint32_t attempt = 0;
  std::vector<std::uint32_t> ranks;
};

struct vitals_answer {
  std::uint64_t number = 0;
  std::vector<doctor::rank_vitals> ranks;
};

class program_doctor {
 public:
  /// Maximum number of watched programs. Further programs are not watched.
  static constexpr std::size_t programs_max = 1'000;
  /// Maximum wait for a worker, which may be busy or too old to answer.
  static constexpr core::duration patience = std::chrono::seconds(2);

  explicit program_doctor(hub& of) : hub_(of) {}

  void update(std::vector<core::program_changed> const& changes);
  /// Ignores vitals of ranks that the query did not contain.
  void deliver(core::stream_id stream, vitals_answer answer);
  void forget_worker(core::stream_id stream);
  void tick();
  core::time_point due() const { return due_; }

  /// Returns nothing if the program makes progress or is not watched.
  std::optional<core::hang> hang_of(core::program_id id) const;
  /// Returns hanging programs, the program with the oldest hang first.
  std::vector<core::program_id> hanging(std::size_t limit) const;
  std::size_t watched() const { return all_.size(); }

 private:
  struct watched_program {
    explicit watched_program(doctor::hang_watch w) : watch(std::move(w)) {}
    std::uint32_t attempt = 0;
    doctor::hang_watch watch;
    std::vector<core::rank_view> ranks{};
    std::vector<std::uint32_t> training{};
    struct question {
      core::stream_id stream{};
      std::vector<std::uint32_t> ranks;
    };
    std::map<std::uint64_t, question> awaited{};
    std::vector<doctor::rank_vitals> vitals{};
    std::optional<core::time_point> asked_at{};  // set until the answers are evaluated
    std::optional<std::uint64_t> round{};
    bool round_is_over = false;
  };

  void begin(core::program_id id);
  void query_vitals(core::program_id id, watched_program& p);
  void evaluate_vitals(core::program_id id, watched_program& p);
  void query_stacks(core::program_id id, watched_program& p);
  void evaluate_stacks(core::program_id id, watched_program& p);
  void report(core::program_id id, watched_program& p, doctor::hang_change news);
  core::time_point due(watched_program const& p) const;
  void find_due();

  hub& hub_;
  std::map<core::program_id, watched_program> all_;
  std::uint64_t last_ = 0;
  core::time_point due_ = core::never;  // cached, because it is read in each step
};

}  // namespace muster::server
