// Selects runs (jobs, sessions and programs) by filters, counts them by facet and keeps those of
// one page. Pure; used on the web thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/program_views.hpp"
#include "server/core/api/views.hpp"
#include "web/http/query.hpp"

namespace muster::web {

enum class run_kind : std::uint8_t { job = 0, session = 1, program = 2 };
constexpr auto enum_names(run_kind) {
  using enum run_kind;
  return enumerators<run_kind>(job, "job", session, "session", program, "program");
}

/// The part of a job, session or program by which it is selected.
struct run_row {
  /// Maximum size of the metadata that is searched for labels; larger metadata is omitted.
  static constexpr std::size_t metadata_bytes_max = 4096;

  run_kind kind{};
  std::uint64_t id = 0;    // value of the session_id or program_id
  std::string_view state;  // name of the job_state or program_state
  bool ended = false;
  std::string name, user, metadata;
  std::uint64_t failed = 0;  // failed closures; for a program: 1 if the program failed
  core::time_point created{}, finished{};
};

/// The user of a run that was submitted without a token, as a filter value.
inline constexpr std::string_view no_user = "-";

enum class work_order : std::uint8_t { created = 0, ended = 1, duration = 2, failed = 3, name = 4 };
constexpr auto enum_names(work_order) {
  using enum work_order;
  return enumerators<work_order>(created, "created", ended, "ended", duration, "duration", failed,
                                 "failed", name, "name");
}

/// The position of a run in an order: big-endian bytes of a number, or the start of a name.
struct work_place {
  std::string key;
  run_kind kind{};
  std::uint64_t id = 0;

  auto operator<=>(work_place const&) const = default;
};

struct work_query {
  std::set<run_kind> kinds;         // empty: all
  std::set<std::string> states;     // names; empty: all
  std::set<std::string> users;      // empty: all
  std::vector<std::string> labels;  // "key" or "key=value"; a run must have all of them
  std::int64_t since_ms = 0, until_ms = INT64_MAX;
  std::string text;
  work_order order = work_order::created;
  bool descending = true;
  std::size_t limit = 0;
  std::optional<work_place> after;

  /// Reads the parameters of a request; `query` records a failure that names the field.
  static work_query read(query_check& query);
};

struct work_facets {
  static constexpr std::size_t values_max = 50;  // of users and of labels
  using counts = std::map<std::string, std::uint64_t>;
  std::array<std::uint64_t, enum_size<run_kind>> kinds{};
  counts states, users, labels;
};

class work_selection {
 public:
  /// Maximum size of metadata that is searched for labels in one request.
  static constexpr std::size_t metadata_bytes_max = std::size_t{8} << 20;
  /// Maximum number of different labels that are counted.
  static constexpr std::size_t labels_max = 10'000;

  work_selection(work_query query, core::time_point now) : query_(std::move(query)), now_(now) {}

  void add(run_row const& row);

  std::uint64_t of() const { return of_; }
  std::uint64_t matching() const { return matching_; }
  /// Counts of each facet. They ignore the filter of the same facet.
  work_facets const& facets() const { return facets_; }
  std::vector<work_place> page() const;
  /// Returns the token of the next page; empty on the last page.
  std::string next_token() const;

 private:
  std::string key_of(run_row const& row) const;
  void keep(work_place place);
  bool comes_before(work_place const& a, work_place const& b) const {
    return query_.descending ? b < a : a < b;
  }

  work_query const query_;
  core::time_point const now_;
  std::set<work_place> kept_;  // at most limit + 1
  work_facets facets_;
  std::uint64_t of_ = 0, matching_ = 0;
  std::size_t metadata_bytes_ = 0;
};

/// Returns "key=value" for each member of the metadata that is a text, a number or a boolean.
std::vector<std::string> labels_of(std::string_view metadata);

}  // namespace muster::web
