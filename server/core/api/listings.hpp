// What listings ask of the coordinator and what a step of one gives. A listing goes over many
// records, so it goes in steps: each looks at a bounded number of them from a cursor on and gives
// little more than ids, of which the reader keeps the best. Plain data that may leave the engine
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/views.hpp"

namespace muster::core {

using muster::name;

/// What one step may do: going past a record costs 1, looking at one 4, at its texts 16.
inline constexpr std::size_t step_units = 40'000;

/// A set of states.
using closure_states = std::uint8_t;
constexpr closure_states bit(closure_state s) {
  return static_cast<closure_states>(1u << static_cast<unsigned>(s));
}
inline constexpr closure_states any_state = 0x3f;
inline constexpr closure_states unfinished_states =
    bit(closure_state::blocked) | bit(closure_state::queued) | bit(closure_state::running);
inline constexpr closure_states ended_badly_states =
    bit(closure_state::failed) | bit(closure_state::cancelled);

/// Where the value of a closure is.
enum class value_whereabouts : std::uint8_t { none = 0, memory = 1, disk = 2, released = 3 };
constexpr auto enum_names(value_whereabouts) {
  using enum value_whereabouts;
  return enumerators<value_whereabouts>(none, "none", memory, "memory", disk, "disk", released,
                                        "released");
}
value_whereabouts whereabouts(closure_view const& c);

enum class listing_order : std::uint8_t {
  by_index,     ///< as they were scheduled; over all sessions by number
  by_start,     ///< of the newest attempt
  by_duration,  ///< from that to its end, or to the query's time
  by_age,       ///< since the value came, or since the closure was scheduled
  by_size,      ///< bytes of the value
};

struct closure_query {
  session_id session{};  // none: of all
  closure_states states = any_state;
  std::string function{}, worker{};          // empty: any; "worker:3"
  std::string text{};                        // lower case; in function, error and id. Empty: any
  std::optional<value_state> value{};        // with these two only closures…
  std::optional<value_whereabouts> place{};  // …with such a value
  bool rows = true;                          // of a gRPC session: also what has left its records
  listing_order order = listing_order::by_index;
  bool descending = false;
  time_point at{};  // durations and ages are up to then
};

/// Where a step begins. Records come before rows: what becomes a row meanwhile is seen twice rather
/// than never.
struct closure_cursor {
  enum part_kind : std::uint8_t { records, rows, old_failures, end };
  part_kind part = records;
  std::uint64_t at = 0;  // place in the job, slot, or number of a row

  bool operator==(closure_cursor const&) const = default;
};

/// `key` is as the query's order wants it, the smallest is the first; what has none comes last.
struct found_closure {
  std::uint64_t key = 0;
  closure_id id{};

  auto operator<=>(found_closure const&) const = default;
};

/// What a step may find.
struct closure_bounds {
  found_closure after{};  // nothing: from the first
  found_closure before{UINT64_MAX, closure_id{UINT64_MAX}};
  std::size_t room = SIZE_MAX;  // a walk in order ends with so many
};

struct closure_look {
  std::vector<found_closure> found;
  closure_cursor next;
  bool in_order = false;        // the walk goes in the order of the keys
  std::uint64_t looked_at = 0;  // in this step
  std::uint64_t of = 0;         // how many there are
};

/// A session's closures by function, and how often one of a function waits for one of another.
struct closure_groups {
  static constexpr std::size_t groups_max = 1'000;  // more: the rest is one group, ""
  static constexpr std::size_t edges_max = 10'000;  // more: left out

  std::vector<std::pair<std::string, closure_counts>> groups;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> edges;  // by place in groups
  std::unordered_map<std::uint32_t, std::uint32_t> place_of;               // of functions
  std::uint64_t next = 0, looked_at = 0, of = 0;
  bool done = false;
};

/// A session's closures and their inputs.
struct graph_nodes {
  static constexpr std::size_t nodes_max = 2'000;
  struct node {
    closure_id id{};
    std::uint32_t index = 0;
    std::uint32_t function = 0;  // in functions
    closure_state state{};
    std::vector<closure_id> inputs;
  };
  std::vector<node> nodes;
  std::vector<std::string> functions;
  std::unordered_map<std::uint32_t, std::uint32_t> place_of;
  std::uint64_t next = 0, of = 0;
  bool done = false;
};

/// A session and what it keeps of values.
struct value_holder {
  session_id job{};
  std::string name;
  bool streaming = false;
  job_state state{};
  std::uint64_t values = 0, bytes = 0, spilled_bytes = 0;
  std::uint64_t blob_bytes = 0;  // of the blobs that values name
};

/// What a worker holds.
struct worker_hands {
  struct held {
    closure_id id{};
    session_id job{};  // none: the core's own
    std::uint32_t index = 0;
    std::string function;
    time_point since{};  // when it was started; of those prefetched, when they were sent
  };
  std::vector<held> running, prefetched;
  std::uint64_t more = 0;  // beyond these
};

}  // namespace muster::core
