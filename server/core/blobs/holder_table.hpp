// Which processes hold large values in their own memory, and where others on their host take these.
// The bytes are theirs; this knows names and sizes only. Owned by blob_holders; its thread.
//
// A name is 32 random bytes, known for as long as a process that says so is there. What a worker
// holds are outputs of closures: those that no value names, `told` after they were announced or
// when the last value has gone, are to be dropped. What a client holds are arguments, which it
// drops by itself, and can put again whatever becomes of its stream.
//
//              hold                     copy                  its maker goes
//   unknown ─────────► with its maker ─────────► with several ────────────────► with copies
//      ▲                     │ the last goes                                        │ the same
//      └── away, then lost ◄─┴──────────────────────────────────────────────────────┘
//
// Other workers that have taken an output may hold a copy, and say so. It is lost with the last of
// all of them, whoever made it: after `away`, or when another process has the task of the last,
// which is dead then.
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
  /// Processes that hold one value. Others are told of no more; who has a copy may keep it.
  std::size_t holders_max = 8;
  /// For a value that is about to name what was announced.
  duration told = std::chrono::seconds(30);
  /// Outputs that are named for so long are put, too, so that they outlive their holders.
  duration copied = std::chrono::seconds(10);
  /// For who is asked to put a value to begin. Then another holder is asked.
  duration put_within = std::chrono::seconds(5);
  /// For a process whose stream has broken to come back with what it holds. Then that is lost.
  duration away = std::chrono::seconds(3);
};

/// What a process says of itself.
struct holder_hello {
  std::string socket;    // where its values are taken on its host
  std::string task{};    // of a worker; empty: a client
  std::string host{};    // the same for those that reach each other's sockets; empty: not known
  holder_id former = 0;  // its id on a stream before, which nobody else knows; 0: none
};

struct worker_holding {
  std::string task;
  std::uint64_t names = 0, bytes = 0;
};

struct holder_counts {
  std::uint64_t holders = 0;
  std::uint64_t names = 0;
  std::uint64_t bytes = 0;    // of these, each once
  std::uint64_t outputs = 0;  // names that workers hold
  std::uint64_t copies = 0;   // of outputs, beyond the first process that holds each
  std::uint64_t copy_bytes = 0;
};

class holder_table {
 public:
  struct place {
    std::uint64_t size = 0;
    holder_id maker = 0;  // 0: it has gone
    bool output = false;  // workers hold it
    std::vector<holder_id> by;
    std::size_t turn = 0, put_turn = 0;
    time_point put_asked{};  // of that turn
  };

  explicit holder_table(holder_limits limits = {}) : limits_(limits) {}

  /// What the process of a worker before it had is lost. REQUIRES: no other has this id.
  void open(holder_id id, holder_hello hello);
  /// With all that it holds.
  void close(holder_id id, time_point now);

  /// What it has made. False: another process holds that name, or there are too many. What its
  /// former stream, which is not known to be broken, holds is taken over. A worker whose stream was
  /// closed is the maker again.
  bool hold(holder_id id, std::string_view name, std::uint64_t size, time_point now);
  /// What it has taken from another. False: nobody is told of it; see holder_limits. Or it is no
  /// output, of another size, or not a worker's to hold.
  bool copy(holder_id id, std::string_view name, std::uint64_t size, time_point now);
  void drop(holder_id id, std::string_view name, time_point now);

  /// Null: nobody holds it. Until something changes.
  place const* find(std::string_view name) const;
  bool holds(holder_id id, std::string_view name) const;
  holder_hello const& of(holder_id id) const { return holders_.at(id).hello; }
  /// Who holds it, those of `host` first, and each time another of them at first.
  std::vector<holder_id> by_turns(std::string_view name, std::string_view host);
  /// Who is to put it: its maker at first, then the others by turns.
  std::optional<holder_id> who_puts(std::string_view name, time_point now);

  /// No value names it any more: the workers that are to be told.
  std::vector<holder_id> not_named(std::string_view name) const;
  /// Outputs that were announced `copied` ago, and those `told` ago; at most `most`, each once.
  std::vector<std::string> take_copied(time_point now, std::size_t most);
  std::vector<std::string> take_told(time_point now, std::size_t most);
  /// Outputs of which no process has come back. At most `most`, each once.
  std::vector<std::string> take_lost(time_point now, std::size_t most);
  /// Outputs whose maker has not come back, and that others hold, who may let go of them. At most
  /// `most`.
  std::vector<std::string> take_orphans(time_point now, std::size_t most);

  holder_counts counts() const;
  /// Workers, those that hold the most bytes first; at most `most`.
  std::vector<worker_holding> workers(std::size_t most) const;
  holder_limits const& limits() const { return limits_; }
  /// Empty, or what does not fit together; for tests.
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
  /// One of its streams holds it already, the newer one from here on.
  bool is_its_own(holder_id id, places::iterator it);
  /// A process more. False: there are too many names.
  bool begin(holder_id id, std::string_view name, std::uint64_t size, holder_id maker,
             time_point now);
  void add(holder_id id, places::iterator it);
  /// A process less. The name goes with the last; `back`: one of them may come back with it.
  void remove(holder_id id, places::iterator it, bool back, time_point now);
  static std::vector<std::string> take(line& from, time_point until, std::size_t most, line* then);

  holder_limits const limits_;
  std::unordered_map<holder_id, holder> holders_;
  places places_;
  // Outputs by the time they were announced, oldest first, before and after `copied`, and by that
  // at which their last holder, or their maker, went. Some have gone, or are back.
  line new_, copied_, away_, orphans_;
  struct absence {
    time_point since{};
    std::string task;  // of the last
  };
  std::unordered_map<std::string, absence> away_since_;  // of these, what is not back
  std::uint64_t bytes_ = 0, outputs_ = 0, copies_ = 0, copy_bytes_ = 0;
};

}  // namespace muster::core
