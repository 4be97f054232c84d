// Looks at the steps of a worker's ranks, once a second while there are any, and tells ranks where
// to stop. A thread of its own does all that touches the disk: neither a slow one nor who waits for
// stacks may keep an order from a rank that waits for it, and no caller waits for the disk.
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
  /// Between an order to wait and the look at who has gone on: what a rank has stored is seen by
  /// then, whatever its processor does.
  static constexpr std::chrono::milliseconds settled{10};

  /// An order to wait that nothing has followed for so long is taken back: the server is gone.
  static constexpr std::chrono::seconds hold_max{10};

  using clock = std::chrono::steady_clock;
  using all_seen = std::vector<std::pair<rank_key, seen_steps>>;
  using last_steps = std::vector<std::pair<std::uint32_t, std::uint64_t>>;  // rank and step
  /// `seen` is called by the thread of this object, with ranks that have moved.
  step_watch(step_files files, std::function<void(all_seen)> seen);
  ~step_watch() { close(); }
  step_watch(step_watch const&) = delete;

  step_files const& files() const { return files_; }
  // Any thread, all below.
  /// It is about to begin.
  void add(rank_key const& key);
  /// Its file is there.
  void made(rank_key const& key);
  /// It has ended: it is looked at once more, then its file goes.
  void ended(rank_key const& key);
  /// Reports the newest steps of all ranks again: a server that has just started does not know
  /// them.
  void report_again();
  /// Its ranks wait at their next step; `done` gets the last that each has reached, on the thread
  /// of this object.
  void hold(std::uint64_t program, std::uint32_t attempt, std::function<void(last_steps)> done);
  /// They stop after this step; nothing: they go on.
  void stop_after(std::uint64_t program, std::uint32_t attempt, std::optional<std::uint64_t> step);
  /// Attempts of which a rank that is alive has said a step, as the last look has seen it.
  std::set<std::pair<std::uint64_t, std::uint32_t>> stepping();
  /// Calls it after a while, on the thread of this object; once at a time.
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
  void give_up_holds();
  void note_stepping();
  void order(std::uint64_t program, std::uint32_t attempt, std::uint64_t word);

  step_files const files_;
  std::function<void(all_seen)> const seen_;

  std::mutex mutex_;  // of what follows, up to the thread
  std::condition_variable changed_;
  /// Two a rank that the worker holds, and two an attempt, at most.
  std::vector<std::function<void()>> posted_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> stepping_;
  bool closing_ = false;
  std::thread thread_;  // from the first rank on

  // Of that thread alone.
  std::map<rank_key, watched> ranks_;  // as many as the worker holds
  struct told {
    std::uint64_t word = 0;
    clock::time_point since{};
  };
  std::map<std::pair<std::uint64_t, std::uint32_t>, told> words_;  // by attempt that has ranks here
  std::vector<question> questions_;  // one an attempt at a time, from one server
  clock::time_point remind_at_ = clock::time_point::max();
  std::function<void()> remind_;
  bool over_ = false;
};

}  // namespace muster
