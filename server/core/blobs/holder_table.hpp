// Lists the processes that hold large values in their own memory, and the sockets at which other
// processes on the same host can read these values. Owned by blob_holders and used only on its
// thread.
//
// A name is 32 random bytes and is known while a connected process reports it. Workers hold closure
// outputs. A worker must drop an output whose last value is released, or to which no value has
// referred within `told` of its announcement. Clients hold arguments and decide when to drop them.
// Clients can upload arguments again even after their stream was lost. States of an output:
//
//              hold                   copy                       maker leaves
//   unknown ─────────► held by maker ─────────► held by several ──────────────► held as copies
//      ▲                     │ the last holder leaves                                 │ likewise
//      └── away, then lost ◄─┴────────────────────────────────────────────────────────┘
//
// Workers that have read an output can keep and report a copy. An output is lost `away` after its
// last holder has disconnected, or as soon as a new process connects for that holder's task.
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
  /// Maximum number of names. At the limit, further names are refused, and their holders must
  /// upload the values to the server.
  std::size_t names_max = 100'000;
  /// Maximum number of holders of one value. Further copies are not registered.
  std::size_t holders_max = 8;
  /// Time within which a value must refer to an announced output.
  duration told = std::chrono::seconds(30);
  /// Age at which referenced outputs are uploaded to the server, so that the outputs survive their
  /// holders.
  duration copied = std::chrono::seconds(10);
  /// Time within which a holder must start an upload. After that, another holder must upload the
  /// value.
  duration put_within = std::chrono::seconds(5);
  /// Time within which a process must reconnect to keep its values.
  duration away = std::chrono::seconds(3);
};

struct holder_hello {
  std::string socket;
  std::string task{};  // empty for a client
  // Equal for processes that can reach each other's sockets; empty if unknown.
  std::string host{};
  holder_id former = 0;  // secret id of the process's previous stream, or 0
};

struct worker_holding {
  std::string task;
  std::uint64_t names = 0, bytes = 0;
};

struct holder_counts {
  std::uint64_t holders = 0;
  std::uint64_t names = 0;
  std::uint64_t bytes = 0;
  std::uint64_t outputs = 0;
  std::uint64_t copies = 0;
  std::uint64_t copy_bytes = 0;
};

class holder_table {
 public:
  struct place {
    std::uint64_t size = 0;
    holder_id maker = 0;  // 0 if the maker has left
    bool output = false;
    std::vector<holder_id> by;
    std::size_t turn = 0, put_turn = 0;
    time_point put_asked{};
  };

  explicit holder_table(holder_limits limits = {}) : limits_(limits) {}

  /// Adds a process. Values that only the worker's previous process held become lost. REQUIRES: the
  /// id is unused.
  void open(holder_id id, holder_hello hello);
  void close(holder_id id, time_point now);

  /// Registers a value that the process made, or moves it from the process's former stream, even if
  /// that stream is still open. A worker that holds an output without a maker becomes its maker.
  /// Returns false if another process holds the name, or if there are too many names.
  bool hold(holder_id id, std::string_view name, std::uint64_t size, time_point now);
  /// Registers a copy that a worker has read. Returns false at a limit, if the holder is a client,
  /// if the size differs, or if the value is not an output.
  bool copy(holder_id id, std::string_view name, std::uint64_t size, time_point now);
  void drop(holder_id id, std::string_view name, time_point now);

  /// The returned pointer is valid until the next change.
  place const* find(std::string_view name) const;
  bool holds(holder_id id, std::string_view name) const;
  holder_hello const& of(holder_id id) const { return holders_.at(id).hello; }
  /// Returns the holders, starting with the holders on `host`. Successive calls rotate the order.
  std::vector<holder_id> holders_round_robin(std::string_view name, std::string_view host);
  /// Returns the process that must upload the value: the maker, then the other holders in turn.
  std::optional<holder_id> choose_uploader(std::string_view name, time_point now);

  std::vector<holder_id> workers_to_drop(std::string_view name) const;
  /// take_copied returns outputs that were announced `copied` ago, take_unreferenced returns
  /// outputs that were announced `told` ago. Each output is returned only once.
  std::vector<std::string> take_copied(time_point now, std::size_t most);
  std::vector<std::string> take_unreferenced(time_point now, std::size_t most);
  /// Returns outputs without a reconnected holder. Each output is returned only once.
  std::vector<std::string> take_lost(time_point now, std::size_t most);
  /// Returns outputs whose maker did not reconnect. Copies of these outputs can be dropped at any
  /// time.
  std::vector<std::string> take_orphans(time_point now, std::size_t most);

  holder_counts counts() const;
  std::vector<worker_holding> workers(std::size_t most) const;
  holder_limits const& limits() const { return limits_; }
  std::string invalid() const;

 private:
  struct holder {
    holder_hello hello;
    std::unordered_set<std::string> names;
    std::uint64_t bytes = 0;
  };
  using places = std::unordered_map<std::string, place>;
  using line = std::deque<std::pair<time_point, std::string>>;

  static bool is_worker(holder const& h) { return !h.hello.task.empty(); }
  /// Returns whether a stream of the same process holds the value. If so, moves the value to `id`.
  bool is_its_own(holder_id id, places::iterator it);
  bool begin(holder_id id, std::string_view name, std::uint64_t size, holder_id maker,
             time_point now);
  void add(holder_id id, places::iterator it);
  /// Removes a holder. The value is removed with its last holder. `back` is true if the process may
  /// return with the value.
  void remove(holder_id id, places::iterator it, bool back, time_point now);
  static std::vector<std::string> take(line& from, time_point until, std::size_t most, line* then);

  holder_limits const limits_;
  std::unordered_map<holder_id, holder> holders_;
  places places_;
  // Queues with the oldest entry first; entries can be outdated. Ordered by announcement (new_,
  // copied_), or by departure of the last holder (away_) or of the maker (orphans_).
  line new_, copied_, away_, orphans_;
  struct absence {
    time_point since{};
    std::string task;
  };
  std::unordered_map<std::string, absence> away_since_;
  std::uint64_t bytes_ = 0, outputs_ = 0, copies_ = 0, copy_bytes_ = 0;
};

}  // namespace muster::core
