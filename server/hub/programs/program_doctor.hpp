// Watches the programs of a hub that run for a rank that hangs: asks their workers now and then
// what their ranks have done, the coordination clusters who waits, and for stacks when nothing
// moves. What follows from all that is doctor::hang_watch's.
//
//   runs ──► every quarter of hang_after: vitals ──► nothing moves: stacks, twice ──► found
//                                                                                       │
//                  told; with on_hang=restart or abort the core is, too ◄───────────────┘
//
// Owned by a hub; engine thread only. Whatever comes in is noted down and looked at in tick(), so
// all else may be called from inside of a step. Limits: programs_max.
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
  /// Programs that are watched. More: those that come later are not, until one ends.
  static constexpr std::size_t programs_max = 1'000;
  /// A worker that has not answered for so long does not: it is older than the question, or busy.
  static constexpr core::duration patience = std::chrono::seconds(2);

  /// REQUIRES: `of` outlives it.
  explicit program_doctor(hub& of) : hub_(of) {}

  /// Programs that run from now on, or do no more.
  void follow(std::vector<core::program_changed> const& changes);
  /// Only who was asked may answer, and for its own ranks alone.
  void answered(core::stream_id stream, vitals_answer answer);
  /// The worker is gone.
  void gone(core::stream_id stream);
  /// Looks at the programs that are to be looked at by now.
  void tick();
  core::time_point due() const { return due_; }

  /// None: it moves, or nobody watches it.
  std::optional<core::hang> hang_of(core::program_id id) const;
  /// Those that hang, the one that was found first first.
  std::vector<core::program_id> hung(std::size_t limit) const;
  std::size_t watched() const { return all_.size(); }

 private:
  struct patient {
    explicit patient(doctor::hang_watch w) : watch(std::move(w)) {}
    std::uint32_t attempt = 0;
    doctor::hang_watch watch;
    std::vector<core::rank_view> ranks{};  // their places
    std::vector<std::uint32_t> training{};
    struct question {
      core::stream_id stream{};
      std::vector<std::uint32_t> ranks;
    };
    std::map<std::uint64_t, question> awaited{};  // by number
    std::vector<doctor::rank_vitals> vitals{};
    std::optional<core::time_point> asked{};  // and not looked at yet
    std::optional<std::uint64_t> round{};     // of stacks
    bool round_is_over = false;
  };
  using patients = std::map<core::program_id, patient>;

  void begin(core::program_id id);
  void look(core::program_id id, patient& p);
  void ask(core::program_id id, patient& p);
  void ask_for_stacks(core::program_id id, patient& p);
  void finish(core::program_id id, patient& p);
  void tell(core::program_id id, patient& p, doctor::hang_news news);
  core::time_point due(patient const& p) const;
  void find_due();

  hub& hub_;
  patients all_;
  std::uint64_t last_ = 0;              // of questions
  core::time_point due_ = core::never;  // a hub asks for it with each of its steps
};

}  // namespace muster::server
