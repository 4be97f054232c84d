// Which processes hold large values in their own memory, and at which socket other processes on
// their host read them. This table contains only names and sizes; the processes own the bytes.
// Owned by blob_holders; used on its thread.
//
// A name is 32 random bytes. It is known while a connected process reports it. Workers hold outputs
// of closures. The server has a worker drop an output that no value has referred to within `told`
// of its announcement, or whose last value is released. Clients hold arguments: a client drops them
// itself, and can put them again even after its stream was lost.
//
//              hold                     copy                  its maker leaves
//   unknown ─────────► with its maker ─────────► with several ─────────────────► with copies
//      ▲                     │ the last holder leaves                               │ same
//      └── away, then lost ◄─┴──────────────────────────────────────────────────────┘
//
// Other workers that have read an output may hold a copy, and report it. An output is lost with its
// last holder, whoever made it. It counts as lost after `away`, or as soon as another process has
// the task of that last holder, which is dead then.
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
  /// At the limit, further names are refused, and their holders put the values to the server.
  std::size_t names_max = 100'000;
  /// Holders of one value. Further copies are not registered; their holders may keep them.
  std::size_t holders_max = 8;
  /// Time for a value to refer to an announced output.
  duration told = std::chrono::seconds(30);
  /// After this time, referenced outputs are also put to the server, so that they survive their
  /// holders.
  duration copied = std::chrono::seconds(10);
  /// Time for a holder to begin to put a value. Then another holder is asked.
  duration put_within = std::chrono::seconds(5);
  /// Time for a process to reconnect. Then its values are lost.
  duration away = std::chrono::seconds(3);
};

/// The first message of a process on a new stream.
struct holder_hello {
  std::string socket;    // for processes on its host
  std::string task{};    // of a worker; empty: a client
  std::string host{};    // equal if processes can reach each other's sockets; empty: unknown
  holder_id former = 0;  // secret id of its previous stream, or 0
};

struct worker_holding {
  std::string task;
  std::uint64_t names = 0, bytes = 0;
};

struct holder_counts {
  std::uint64_t holders = 0;
  std::uint64_t names = 0;
  std::uint64_t bytes = 0;    // each value once
  std::uint64_t outputs = 0;  // names that workers hold
  std::uint64_t copies = 0;   // besides the first holder
  std::uint64_t copy_bytes = 0;
};

class holder_table {
 public:
  struct place {
    std::uint64_t size = 0;
    holder_id maker = 0;  // 0: it has left
    bool output = false;  // held by workers, not a client
    std::vector<holder_id> by;
    std::size_t turn = 0, put_turn = 0;
    time_point put_asked{};  // time of the request to put_turn
  };

  explicit holder_table(holder_limits limits = {}) : limits_(limits) {}

  /// Adds a process. Values that only the worker's previous process held are lost. REQUIRES: the id
  /// is unused.
  void open(holder_id id, holder_hello hello);
  /// Removes a process with all its values.
  void close(holder_id id, time_point now);

  /// Registers a value that the process has made, or takes it over from its former stream, broken
  /// or not. A worker that holds an output without a maker becomes its maker. Returns false if
  /// another process holds the name, or there are too many names.
  bool hold(holder_id id, std::string_view name, std::uint64_t size, time_point now);
  /// Registers a copy that a worker has read. Returns false at a limit, for a client, for a value
  /// that is not an output, and for another size.
  bool copy(holder_id id, std::string_view name, std::uint64_t size, time_point now);
  void drop(holder_id id, std::string_view name, time_point now);

  /// Returns null without a holder. Valid until the next change.
  place const* find(std::string_view name) const;
  bool holds(holder_id id, std::string_view name) const;
  holder_hello const& of(holder_id id) const { return holders_.at(id).hello; }
  /// Returns the holders, those on `host` first. Successive calls rotate them, to spread the load.
  std::vector<holder_id> holders_round_robin(std::string_view name, std::string_view host);
  /// Returns who puts the value to the server: its maker, then the others in turn.
  std::optional<holder_id> choose_uploader(std::string_view name, time_point now);

  /// Returns the workers to notify when no value refers to an output.
  std::vector<holder_id> workers_to_drop(std::string_view name) const;
  /// Return outputs announced `copied` (or `told`) ago, at most `most`, each once.
  std::vector<std::string> take_copied(time_point now, std::size_t most);
  std::vector<std::string> take_unreferenced(time_point now, std::size_t most);
  /// Returns outputs without any reconnected holder, at most `most`, each once.
  std::vector<std::string> take_lost(time_point now, std::size_t most);
  /// Returns outputs whose maker did not reconnect, so that only copies exist, which may be dropped
  /// at any time. At most `most`.
  std::vector<std::string> take_orphans(time_point now, std::size_t most);

  holder_counts counts() const;
  /// Returns the workers with most bytes, in descending order.
  std::vector<worker_holding> workers(std::size_t most) const;
  holder_limits const& limits() const { return limits_; }
  /// Returns an error, or an empty string; for tests.
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
  /// Returns whether a stream of the same process holds the value, and assigns it to `id` then.
  bool is_its_own(holder_id id, places::iterator it);
  /// Adds a value with its first holder. Returns false if there are too many names.
  bool begin(holder_id id, std::string_view name, std::uint64_t size, holder_id maker,
             time_point now);
  void add(holder_id id, places::iterator it);
  /// Removes a holder, and with the last one the value. `back`: the process may return with it.
  void remove(holder_id id, places::iterator it, bool back, time_point now);
  static std::vector<std::string> take(line& from, time_point until, std::size_t most, line* then);

  holder_limits const limits_;
  std::unordered_map<holder_id, holder> holders_;
  places places_;
  // Queues, oldest first, with outdated entries. By announcement: new_ (before `copied`), copied_.
  // By departure: away_ (last holder), orphans_ (maker).
  line new_, copied_, away_, orphans_;
  struct absence {
    time_point since{};
    std::string task;  // of the last holder
  };
  std::unordered_map<std::string, absence> away_since_;  // of away_, not returned
  std::uint64_t bytes_ = 0, outputs_ = 0, copies_ = 0, copy_bytes_ = 0;
};

}  // namespace muster::core
