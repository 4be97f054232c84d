// Distributes the splits of a dataset to closures, epoch by epoch. A closure draws a split: it
// requests the next split, and holds the split until it has finished reading the split. States:
//
//   queued ──draw──► drawn ──closure succeeded, split finished──► done
//      ▲               │
//      └───────────────┘ closure failed, was cancelled or restarted, or had not finished the split
//
// The next epoch begins when all splits of the current epoch are done. If no split is queued, a
// request waits, because splits that closures hold can be requeued. When all closures that hold
// splits are waiting, each request is answered with the end of the dataset. A closure reads a
// single epoch: the epoch of its first split, or the epoch that it requests. Used only on the
// engine thread; bounded by dataset_limits, and by object_limits for waiting requests.
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

  struct dealt {
    call_name name{};
    std::optional<drawn_split> split{};  // empty at the end of the dataset, or after an error
    std::string wrong{};
  };
  using answers = std::vector<dealt>;

  /// Queues a request for a split, which is answered exactly once, now or later. REQUIRES: the
  /// closure executes this attempt on `worker`.
  void draw(call_name const& name, datasets::draw_request const& r, std::string const& worker,
            answers& out);
  /// Handles the end or restart of a closure. The closure's waiting requests are answered with the
  /// end of the dataset.
  void ended(closure_id closure, bool succeeded, answers& out);
  /// Stops handing out splits to the closure, which keeps the splits that it holds until it
  /// finishes.
  void stop(closure_id closure, answers& out);
  /// Removes and returns the waiting requests, which the caller must answer.
  std::vector<call_name> abandon();

  /// Returns the current position. Scans all splits.
  datasets::position where() const;
  datasets::dataset_counts counts() const;
  std::uint64_t done_ever() const { return done_ever_; }
  std::uint64_t given_back() const { return released_this_step_; }
  /// REQUIRES: check(at) succeeds. Returns FAILED_PRECONDITION if a closure holds splits.
  status seek_to(datasets::position const& at, answers& out);
  /// Returns INVALID_ARGUMENT if the position is invalid; the message begins with the field.
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
  std::string invalid() const;

 private:
  enum class split_state : std::uint8_t { queued, drawn, done };
  struct holder {
    std::uint32_t attempt = 0;
    std::uint32_t epoch = datasets::any_epoch;  // any_epoch until known
    std::string worker{};
    std::map<std::uint32_t, bool> held{};  // splits; true if read to the end
    std::size_t waits = 0;
    bool end_reached = false;
    bool named = false;
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
  bool serve(parked const& p, bool settled, answers& out);
  void serve_all(answers& out);
  /// Returns whether no split can be requeued unless a closure fails or finishes.
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
  std::size_t done_ = 0;
  std::map<closure_id, holder> holders_;
  std::deque<parked> parked_;  // oldest first
  std::uint64_t done_ever_ = 0;
  std::uint64_t released_this_step_ = 0;
  std::map<std::string, datasets::worker_part> workers_;
};

}  // namespace muster::core::objects
