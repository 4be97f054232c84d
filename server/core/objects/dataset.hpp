// One dataset: its splits, dealt out to closures, epoch by epoch.
//
//   queued ──draw──► drawn ──its closure has succeeded, and was past its end──► done
//      ▲                └──its closure has failed, is cancelled, or begins again
//      └──────────────────────────────┘
//
// The next epoch begins when all splits of this one are done. A draw for which nothing is left
// waits, as what others have drawn may come back, until all of them wait, too: then each is told
// the end. A closure reads one epoch: that of its first split, or the one that it names.
//
// Owned by object_table; engine thread only. Limits: dataset_limits; what waits: object_limits.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "server/core/api/datasets.hpp"

namespace muster::core::objects {

struct drawn_split {
  std::uint32_t epoch = 0;
  std::uint32_t split = 0;
};

class dataset {
 public:
  dataset(datasets::dataset_limits const& limits, datasets::dataset_spec spec, session_id owner,
          std::string submitter, time_point created);

  /// What a draw is answered with.
  struct dealt {
    call_name name{};
    std::optional<drawn_split> split{};  // none: the end, unless…
    std::string wrong{};                 // …it is refused
  };
  using answers = std::vector<dealt>;

  /// REQUIRES: the closure executes this attempt on `worker`. Now or later it is answered once.
  void draw(call_name const& name, datasets::draw_request const& r, std::string const& worker,
            answers& out);
  /// The closure has ended, or begins again: its draws that wait are answered with the end.
  void ended(closure_id closure, bool succeeded, answers& out);
  /// The closure is to stop: it is told the end, and keeps what it has until it has ended.
  void stop(closure_id closure, answers& out);
  /// It goes: nothing that waits can be answered otherwise.
  std::vector<call_name> abandon();

  /// Looks at all splits.
  datasets::position where() const;
  /// Looks at none.
  datasets::dataset_counts counts() const;
  std::uint64_t done_ever() const { return done_ever_; }
  std::uint64_t given_back() const { return given_back_; }
  /// It goes on from there. REQUIRES: check. Errors: FAILED_PRECONDITION, functions have drawn what
  /// is not done.
  status go_to(datasets::position const& at, answers& out);
  /// Errors: INVALID_ARGUMENT with the field.
  static status check(datasets::position const& at, std::size_t splits, std::uint32_t epochs);
  std::uint32_t epochs() const { return spec_.epochs; }
  std::size_t splits() const { return spec_.splits.size(); }
  std::string const& split(std::uint32_t i) const { return spec_.splits[i]; }
  session_id owner() const { return owner_; }
  std::string const& name() const { return spec_.name; }
  std::string const& submitter() const { return submitter_; }
  std::size_t bytes() const { return bytes_; }
  bool is_over() const { return epoch_ == spec_.epochs; }
  bool has(closure_id closure) const { return holders_.contains(closure); }
  datasets::dataset_view view(dataset_id id) const;
  /// Empty when all is in order.
  std::string invalid() const;

 private:
  enum class split_state : std::uint8_t { queued, drawn, done };
  struct holder {
    std::uint32_t attempt = 0;
    std::uint32_t epoch = datasets::any_epoch;  // that it reads, once that is known
    std::string worker{};
    std::map<std::uint32_t, bool> held{};  // splits, and whether it is past their end
    std::size_t waits = 0;                 // of its draws
    bool told_end = false;
    bool named = false;  // its functions name the epoch
  };
  struct parked {
    call_name name{};
    closure_id closure{};
    bool whole = false;
  };

  void give_back(holder& h);
  void begin_epoch();
  void begin_at(datasets::position const& at);
  void pass_epochs();
  /// Whether a draw can be answered now, which it is then.
  bool serve(parked const& p, bool settled, answers& out);
  void serve_all(answers& out);
  /// Nothing comes back any more, unless something fails yet.
  bool is_settled() const;
  datasets::worker_part& part_of(std::string const& worker);

  datasets::dataset_limits const& limits_;
  datasets::dataset_spec spec_;
  session_id owner_;
  std::string submitter_;
  time_point created_;
  std::size_t bytes_ = 0;
  std::uint32_t epoch_ = 0;
  std::vector<split_state> states_;
  std::deque<std::uint32_t> queue_;
  std::size_t done_ = 0;  // of this epoch
  std::map<closure_id, holder> holders_;
  std::deque<parked> parked_;  // oldest first
  std::uint64_t done_ever_ = 0;
  std::uint64_t given_back_ = 0;
  std::map<std::string, datasets::worker_part> workers_;
};

}  // namespace muster::core::objects
