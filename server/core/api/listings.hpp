// Queries of listings and the results of their steps. Each step examines a bounded number of
// records and returns little more than ids. The data may be passed to other threads.
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

/// Maximum cost of one step. Skipping a record costs 1 unit, examining a record 4, and searching
/// text 16.
inline constexpr std::size_t step_units = 40'000;

using closure_states = std::uint8_t;
constexpr closure_states bit(closure_state s) {
  return static_cast<closure_states>(1u << static_cast<unsigned>(s));
}
inline constexpr closure_states any_state = 0x3f;
inline constexpr closure_states unfinished_states =
    bit(closure_state::blocked) | bit(closure_state::queued) | bit(closure_state::running);
inline constexpr closure_states ended_badly_states =
    bit(closure_state::failed) | bit(closure_state::cancelled);

enum class value_whereabouts : std::uint8_t { none = 0, memory = 1, disk = 2, released = 3 };
constexpr auto enum_names(value_whereabouts) {
  using enum value_whereabouts;
  return enumerators<value_whereabouts>(none, "none", memory, "memory", disk, "disk", released,
                                        "released");
}
value_whereabouts whereabouts(closure_view const& c);

enum class listing_order : std::uint8_t {
  by_index,
  by_start,
  by_duration,  ///< run time, up to the query's `at` for unfinished closures
  by_age,       ///< time since the end, or since the creation of an unfinished closure
  by_size,
};

struct closure_query {
  session_id session{};
  closure_states states = any_state;
  std::string function{}, worker{};  // empty matches all; `worker` is a task such as "worker:3"
  std::string text{};                // lower-case text to find in function, error or id; optional
  std::optional<value_state> value{};
  std::optional<value_whereabouts> place{};
  // The end of an ended closure and the creation of another closure must lie in this range.
  time_point since{}, until = never;
  bool rows = true;  // whether to include removed gRPC session records
  listing_order order = listing_order::by_index;
  bool descending = false;
  time_point at{};  // time until which unfinished closures' durations and ages count
};

/// Records precede rows, so that a record that becomes a row between two steps is listed twice
/// rather than missed.
struct closure_cursor {
  enum part_kind : std::uint8_t { records, rows, old_failures, end };
  part_kind part = records;
  std::uint64_t at = 0;  // position in the job, slot, or row number, depending on `part`

  bool operator==(closure_cursor const&) const = default;
};

/// Results are sorted by `key`. Closures without the sort property are last.
struct found_closure {
  std::uint64_t key = 0;
  closure_id id{};

  auto operator<=>(found_closure const&) const = default;
};

struct closure_bounds {
  found_closure after{};
  found_closure before{UINT64_MAX, closure_id{UINT64_MAX}};
  std::size_t room = SIZE_MAX;  // an in-order scan stops after this many results
};

struct search_step {
  std::vector<found_closure> found;
  closure_cursor next;
  bool in_order = false;  // the scan follows the order of the keys
  std::uint64_t looked_at = 0;
  std::uint64_t of = 0;  // total number of records
};

/// Closure counts of a session by function, and the number of dependencies between each pair of
/// functions.
struct closure_groups {
  // Functions above this limit are grouped under "".
  static constexpr std::size_t groups_max = 1'000;
  static constexpr std::size_t edges_max = 10'000;

  std::vector<std::pair<std::string, closure_counts>> groups;
  // Keys are indices into `groups`.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> edges;
  std::unordered_map<std::uint32_t, std::uint32_t> place_of;  // index into `groups`, by function
  std::uint64_t next = 0, looked_at = 0, of = 0;
  bool done = false;
};

struct graph_nodes {
  static constexpr std::size_t nodes_max = 2'000;
  struct node {
    closure_id id{};
    std::uint32_t index = 0;
    std::uint32_t function = 0;
    closure_state state{};
    std::vector<closure_id> inputs;
  };
  std::vector<node> nodes;
  std::vector<std::string> functions;
  std::unordered_map<std::uint32_t, std::uint32_t> place_of;
  std::uint64_t next = 0, of = 0;
  bool done = false;
};

struct value_holder {
  session_id job{};
  std::string name;
  bool streaming = false;
  job_state state{};
  std::uint64_t values = 0, bytes = 0, spilled_bytes = 0;
  std::uint64_t blob_bytes = 0;
};

struct worker_contents {
  struct held {
    closure_id id{};
    session_id job{};  // not set for internal closures
    std::uint32_t index = 0;
    std::string function;
    time_point since{};  // start time, or dispatch time if prefetched
  };
  std::vector<held> running, prefetched;
  std::uint64_t more = 0;
};

}  // namespace muster::core
