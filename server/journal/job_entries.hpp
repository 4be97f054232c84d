// Entries of jobs and their closures, with the checks that loading and repair share. Pure and
// thread-safe functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/closure_fields.hpp"
#include "server/journal/described_entry.hpp"
#include "server/journal/key_numbers.hpp"

namespace muster::server::journal {

struct job_entry {
  std::string cluster{};
  // 0 for a job, 1 for a session with a stream, 2 for a session with unary calls
  std::uint32_t delivery = 0;
  core::job_fact job{};
};
constexpr auto fields_of(std::type_identity<job_entry>) {
  using t = job_entry;
  return core::fields(core::field(1, "cluster", &t::cluster), core::flat(&t::job),
                      core::field(21, "delivery", &t::delivery));
}

struct accepted_entry {
  core::time_point created{};
  std::vector<std::string> functions{};
  std::vector<core::closure_id> ids{};
  std::vector<std::uint32_t> function{};
  std::vector<core::blob> args{};                                     // without their encodings
  std::vector<core::encoding> encodings{};                            // if empty, all are JSON
  std::vector<std::shared_ptr<core::closure_extras const>> extras{};  // distinct option sets
  std::vector<std::uint32_t>
      extras_of{};  // index into `extras` plus 1, or 0 without options; if empty, all are 0
  std::vector<std::uint64_t> tokens{};  // if empty, all are 0
  std::vector<core::callable_name> callables{};
  std::vector<bool> own_errors{};  // if empty, all are false
};
constexpr auto fields_of(std::type_identity<accepted_entry>) {
  using t = accepted_entry;
  using core::field;
  return core::fields(field(1, "created", &t::created), field(2, "functions", &t::functions),
                      field(3, "ids", &t::ids).as_fixed(), field(4, "function", &t::function),
                      field(5, "args", &t::args).as_bytes(), field(6, "encodings", &t::encodings),
                      field(7, "extras", &t::extras), field(8, "extras_of", &t::extras_of),
                      field(9, "tokens", &t::tokens).as_fixed(),
                      field(10, "callables", &t::callables),
                      field(11, "own_errors", &t::own_errors));
}

struct per_worker_entry {
  std::string cluster{};  // only for a value without a session
  core::per_worker_fact value{};
};
constexpr auto fields_of(std::type_identity<per_worker_entry>) {
  using t = per_worker_entry;
  return core::fields(core::flat(&t::value), core::field(8, "cluster", &t::cluster));
}

/// Entry of a closure that its client has released. The number of its state follows the last
/// enumerator.
constexpr std::string_view forgotten_entry = "\x08\x06";
/// Ignores fields of later versions.
inline bool is_forgotten(std::string_view bytes) {
  entry::reader fields(bytes);
  for (entry::item i; fields.next(i);)
    if (i.number == 1) return i.value == 6;
  return false;
}

/// Returns 0 if the key contains no ID.
inline core::session_id job_in(std::string_view key) {
  return core::session_id{id_in(key).value_or(0)};
}
/// Returns the ID of a per-worker value in its key, or 0 if there is none. The key of a value
/// without a session contains 0 as the ID of the session.
inline core::per_worker_id value_in(std::string_view key) {
  auto const id = key_number<std::uint64_t>(after_id(key), id_digits, 16);
  return core::per_worker_id{id_in(key) ? id.value_or(0) : 0};
}

/// Sets the job's ID from the key. Returns whether the entry is valid.
bool complete(job_entry& e, core::session_id job);
/// Returns whether all columns have the same length and all indexes are in range.
bool fits(accepted_entry const& e);
/// Returns whether a request can start at `first` if the previous request ends at `end`. Requests
/// never overlap; only a session can have gaps between requests.
bool follows(core::delivery d, std::uint64_t end, std::uint64_t first);
/// Completes a closure's state. Returns whether its fields are consistent.
bool complete(core::closure_fact& f, core::session_id job, std::uint32_t order);

/// Returns the closure's slot, which is unique in the server.
inline std::uint32_t place_of(core::closure_id id) {
  return static_cast<std::uint32_t>(raw(id));
}
inline bool has_place(core::closure_id id) {
  return raw(id) >> 32 != 0;
}

}  // namespace muster::server::journal
