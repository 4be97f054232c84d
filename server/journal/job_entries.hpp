// The entries of jobs and their closures, one by one: what loads them and what repairs a store that
// cannot be loaded judge them alike. Pure functions, any thread.
#pragma once

#include <string_view>

#include "server/journal/closure_words.hpp"

namespace muster::server::journal {

/// ClosureState::state of a closure that its client has released.
constexpr std::uint32_t forgotten = static_cast<std::uint32_t>(core::closure_state::cancelled) + 1;

/// Returns the job in a key of the kinds a, e, j and p; 0: the key has none.
core::session_id job_in(std::string_view key);
/// Returns the number behind the job; the largest: there is none.
std::uint64_t position_in(std::string_view key, int base);

/// Returns whether all columns have the same length and all numbers are in range. Closures are
/// named by their position later.
bool fits(wire::Accepted const& w);
/// Returns whether a request can begin at `first` when the one before ends at `end`: the positions
/// of a job have no gaps, those of a session can have some, and no two requests overlap.
bool follows(core::delivery d, std::uint64_t end, std::uint64_t first);
/// Sets `ok` to false when the entry is not within the ranges of its kinds.
core::closure_fact state_in(core::session_id job, std::uint32_t order, wire::ClosureState const& w,
                            bool& ok);

/// The slot of a closure's id, which no other closure of the server can have.
inline std::uint32_t place_of(core::closure_id id) {
  return static_cast<std::uint32_t>(raw(id));
}
/// Returns whether the id has a generation, which begins with 1.
inline bool has_place(core::closure_id id) {
  return raw(id) >> 32 != 0;
}

}  // namespace muster::server::journal
