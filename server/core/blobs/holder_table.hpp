// Which processes hold large values in their own memory, and where others on their host take these.
// The bytes are theirs; this knows names and sizes only. Owned by blob_holders; its thread.
//
// A name is 32 random bytes, known for as long as a process that says so is there. What a worker
// holds are outputs of closures: those that no value names, `told` after they were announced or
// when the last value has gone, are to be dropped. What a client holds are arguments, which it
// drops by itself, and can put again whatever becomes of its stream.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "server/core/api/time.hpp"

namespace muster::core {

using holder_id = std::uint64_t;

struct holder_limits {
  /// Names, of all processes. More are not known: who holds them puts them.
  std::size_t names_max = 100'000;
  /// For a value that is about to name what was announced.
  duration told = std::chrono::seconds(30);
  /// Outputs that are named for so long are put, too, so that they outlive their worker.
  duration copied = std::chrono::seconds(10);
  /// For a process whose stream has broken to come back with what it holds. Then that is lost.
  duration away = std::chrono::seconds(3);
};

struct worker_holding {
  std::string task;
  std::uint64_t names = 0, bytes = 0;
};

struct holder_counts {
  std::uint64_t holders = 0;
  std::uint64_t names = 0;
  std::uint64_t bytes = 0;    // of these
  std::uint64_t outputs = 0;  // names that workers hold
};

class holder_table {
 public:
  struct place {
    holder_id by = 0;
    std::uint64_t size = 0;
  };

  explicit holder_table(holder_limits limits = {}) : limits_(limits) {}

  /// `socket`: where its values are taken. `task`: of a worker; empty: a client's. `former`: its id
  /// on a stream before, which nobody else knows; 0: none.
  /// REQUIRES: no other has this id.
  void open(holder_id id, std::string socket, std::string task, holder_id former = 0);
  /// With all that it holds.
  void close(holder_id id, time_point now);

  /// False: another process holds that name, or there are too many. What its former stream, which
  /// is not known to be broken, holds is taken over.
  bool hold(holder_id id, std::string_view name, std::uint64_t size, time_point now);
  void drop(holder_id id, std::string_view name);

  std::optional<place> find(std::string_view name) const;
  bool holds(holder_id id, std::string_view name) const;
  std::string const& socket_of(holder_id id) const { return holders_.at(id).socket; }
  std::string const& task_of(holder_id id) const { return holders_.at(id).task; }

  /// No value names it any more: the worker that is to be told.
  std::optional<holder_id> not_named(std::string_view name) const;
  /// Outputs that were announced `copied` ago, and those `told` ago; at most `most`, each once.
  std::vector<std::string> take_copied(time_point now, std::size_t most);
  std::vector<std::string> take_told(time_point now, std::size_t most);
  /// Outputs whose worker has not come back. At most `most`, each once.
  std::vector<std::string> take_lost(time_point now, std::size_t most);

  holder_counts counts() const;
  /// Workers, those that hold the most bytes first; at most `most`.
  std::vector<worker_holding> workers(std::size_t most) const;
  holder_limits const& limits() const { return limits_; }
  /// Empty, or what does not fit together; for tests.
  std::string invalid() const;

 private:
  struct holder {
    std::string socket, task;
    holder_id former = 0;
    std::unordered_set<std::string> names;
    std::uint64_t bytes = 0;
  };

  using line = std::deque<std::pair<time_point, std::string>>;

  void forget(std::unordered_map<std::string, place>::iterator it);
  static std::vector<std::string> take(line& from, time_point until, std::size_t most, line* then);

  holder_limits const limits_;
  std::unordered_map<holder_id, holder> holders_;
  std::unordered_map<std::string, place> places_;
  // Outputs by the time they were announced, oldest first, before and after `copied`, and by that
  // at which their worker went. Some have gone, or are back.
  line new_, copied_, away_;
  std::uint64_t bytes_ = 0, outputs_ = 0;
};

}  // namespace muster::core
