// Reads the steps of a worker's ranks once per second, and orders ranks to stop at a step. A
// separate thread does all disk access, so that neither a slow disk nor stack sampling delays an
// order or a caller.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "client/programs/step_files.hpp"

namespace muster {

class step_watch {
 public:
  static constexpr std::chrono::milliseconds every{1'000};
  /// Time between a hold order and reading the last steps. By then, the ranks' writes are visible.
  static constexpr std::chrono::milliseconds settled{10};

  /// A hold that is not followed by an order is revoked after this time, because the server is
  /// presumed lost.
  static constexpr std::chrono::seconds hold_max{10};

  static constexpr std::chrono::milliseconds read_max{100};

  using clock = std::chrono::steady_clock;
  using all_seen = std::vector<std::pair<rank_key, seen_steps>>;
  using last_steps = std::vector<std::pair<std::uint32_t, std::uint64_t>>;  // rank and step
  /// `seen` is called on this object's thread with the ranks that have new steps.
  step_watch(step_files files, std::function<void(all_seen)> seen);
  ~step_watch() { close(); }
  step_watch(step_watch const&) = delete;

  step_files const& files() const { return files_; }
  // Thread-safe.
  /// Must be called before the rank starts.
  void add(rank_key const& key);
  /// Passes the current order to a rank whose file has been created.
  void made(rank_key const& key);
  /// Reads the steps of an exited rank one last time, then removes its file.
  void ended(rank_key const& key);
  /// Called when a server has restarted.
  void report_again();
  /// Holds ranks at their next step, and then calls `done` on this object's thread with the last
  /// step of each rank.
  void hold(std::uint64_t program, std::uint32_t attempt, std::function<void(last_steps)> done);
  /// Makes ranks stop after this step, or continue if there is no step.
  void stop_after(std::uint64_t program, std::uint32_t attempt, std::optional<std::uint64_t> step);
  /// Reads the steps now, and returns the attempts in which a running rank has reported a step. If
  /// reading takes longer than `read_max`, returns the attempts as of the last read.
  std::set<std::pair<std::uint64_t, std::uint32_t>> stepping();
  /// Calls `of` later on this object's thread. The request is ignored while an earlier call is
  /// pending.
  void remind(std::chrono::milliseconds after, std::function<void()> of);
  void close();

 private:
  struct watched {
    std::uint64_t count = 0;
    std::optional<std::uint64_t> last{};
    bool over = false;
  };
  struct question {
    std::uint64_t program = 0;
    std::uint32_t attempt = 0;
    std::function<void(last_steps)> done;
  };
  void post(std::function<void()> what);
  std::optional<std::vector<std::function<void()>>> next_posted(clock::time_point until);
  void run();
  void look();
  void answer();
  void revoke_old_holds();
  void note_stepping();
  void order(std::uint64_t program, std::uint32_t attempt, std::uint64_t word);

  step_files const files_;
  std::function<void(all_seen)> const seen_;

  std::mutex mutex_;  // protects the members up to `thread_`
  std::condition_variable changed_;
  /// Posted calls: at most two per rank that the worker holds, and two per attempt.
  std::vector<std::function<void()>> posted_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> stepping_;
  std::condition_variable read_;
  std::uint64_t reads_asked_ = 0, reads_done_ = 0;  // numbers of calls of stepping()
  bool closing_ = false;
  std::thread thread_;  // the first rank starts this thread

  // Used only by `thread_`.
  std::map<rank_key, watched> ranks_;  // at most the ranks that the worker holds
  struct told {
    std::uint64_t word = 0;
    clock::time_point since{};
  };
  std::map<std::pair<std::uint64_t, std::uint32_t>, told> orders_;
  std::vector<question> questions_;  // at most one per attempt, all from one server
  clock::time_point remind_at_ = clock::time_point::max();
  std::function<void()> remind_;
  bool ranks_ended_ = false;
  std::uint64_t asked_ = 0;  // the newest call of stepping() that this thread has seen
};

}  // namespace muster
