// Every closure the server knows, one record each, in chunks that never move. The ground that the
// sub-models of the core stand on: a field belongs to the one that is named beside it.
//
// A closure_id is slot | generation << 32, so look-up is an index and a compare, and an id of a
// forgotten closure is recognised. Records link themselves into lists by slot number (a queue of a
// session's queue, or what a worker holds), so moving a closure allocates nothing. Slots are the
// server's: chunks of them are taken from what all tables share.
//
// Owned by the coordinator; engine thread only. Bounded by config::closures_max.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "server/core/api/attempt_outcome.hpp"
#include "server/core/api/id_text.hpp"
#include "server/core/api/model.hpp"
#include "server/core/api/phase.hpp"
#include "server/core/api/server_wide.hpp"
#include "server/core/records/numbers.hpp"

namespace muster::core {

using slot = std::uint32_t;
inline constexpr slot no_slot = ~slot{0};

struct attempt_record {
  std::uint32_t attempt = 0;
  std::uint32_t place = 0;  // in the place_table
  time_point started{};
  time_point ended{};
  attempt_outcome outcome;
  blame blamed = blame::none;
};

/// What only few closures have.
struct closure_details {
  core::failure failure;
  std::vector<attempt_record> lost;  // attempts that were not the last, oldest first
  std::shared_ptr<closure_extras const> extras;
  std::shared_ptr<std::vector<blob>> inputs;  // values so far, by position
  std::vector<closure_id> input_ids;          // by position
  std::vector<closure_id> dependents;         // closures that wait(ed) for this one; may be gone
  std::uint32_t inputs_missing = 0;
  std::uint64_t gang = 0;             // in the gang_table, until it starts; 0: none
  std::uint32_t retries = 0;          // user errors that were tried again
  time_point start_at{};              // not dispatched before
  std::uint32_t workers_lost = 0;     // that it is blamed for, ended processes among them
  std::uint32_t processes_ended = 0;  // while they executed it
  time_point deadline = never;
  time_point exclusive_since{};  // once it is to run alone
  time_point ready_at{};         // when it could be dispatched last; epoch: when it was created
};

/// What is remembered of a value that was released.
struct release_note {
  release_reason why{};
  time_point at{};
  std::uint64_t bytes = 0;  // of the blob, where it was the name of one; of the value
};

struct closure_record {
  session_number owner{};  // none: the slot is free
  worker_number worker{};  // that holds it: it runs, or was prefetched
  std::unique_ptr<closure_details> details;
  blob args;
  blob value;  // values
  std::uint64_t token = 0;
  time_point created{};
  time_point started{};   // of the newest attempt; while that is only prefetched: when it was sent
  time_point finished{};  // when it ended; once the slot is free, when it was released
  std::uint32_t generation = 1;
  slot previous = no_slot;  // of the list that it is in, and…
  slot next = no_slot;      // …next; of the free slots, too
  std::uint32_t order = 0;  // position in its session
  std::uint32_t queue = 0;  // scheduling: of its session
  std::uint32_t attempt = 0;
  std::uint32_t place = ~0u;  // where the newest attempt ran
  function_id function{};
  closure_phase phase = closure_phase::queued;  // changed by closure_book alone
  std::uint8_t worker_failures = 0;
  bool timed_out : 1 = false;  // its deadline has passed while it ran
  bool stop_requested : 1 = false;
  bool awaited : 1 = false;    // a parked call waits for it
  bool released : 1 = false;   // of a resumable session: nobody wants the value
  bool reported : 1 = false;   // while it runs: its worker has said so
  bool retracted : 1 = false;  // prefetched: its worker was asked to give it back
  bool exclusive : 1 = false;  // its worker does nothing else; see exclusive_table.hpp
  value_place where : 2 = value_place::memory;  // values
  release_reason why_released : 4 = {};         // once the slot is free
  bool restored : 1 = false;   // it ran in an earlier process: its worker may still have it
  bool noted : 1 = false;      // while it runs: a fact says so
  bool waits : 1 = false;      // while it runs: for a value, and another has its slot
  bool own_error : 1 = false;  // its error is nobody else's, and nobody else's stops it

  closure_state state() const { return state_of(phase); }
  bool is(closure_phase p) const { return phase == p; }
  bool sent() const { return phase == closure_phase::prefetched; }
  /// It waits for something else than a worker.
  bool deferred() const { return phase < closure_phase::queued; }

  /// The newest attempt lost its worker or process, and the closure may be why.
  bool is_blamed_for_last_loss() const {
    if (!details || details->lost.empty()) return false;
    auto const& last = details->lost.back();
    return last.blamed != blame::none && last.attempt == attempt &&
           last.outcome.how == attempt_end::worker_lost;
  }

  closure_details& with_details() {
    if (!details) details = std::make_unique<closure_details>();
    return *details;
  }
};
static_assert(sizeof(closure_record) <= 104, "the memory of a queued closure is a promise");

/// A list of records through their own links.
struct slot_list {
  slot front = no_slot;
  slot back = no_slot;
  std::uint32_t size = 0;
};

class closure_table {
 public:
  /// `wide` outlives it.
  explicit closure_table(server_wide& wide) : wide_(wide) {}

  closure_record& operator[](slot s) { return chunks_[s / chunk_size][s % chunk_size]; }
  closure_record const& operator[](slot s) const { return chunks_[s / chunk_size][s % chunk_size]; }

  [[gnu::always_inline]] closure_id id_of(slot s) const {
    return closure_id{std::uint64_t{(*this)[s].generation} << 32 | s};
  }
  static slot slot_of(closure_id id) { return static_cast<slot>(raw(id)); }

  /// Whether the slot, which may be free, is of this table.
  bool is_mine(slot s) const {
    return s / chunk_size < chunks_.size() && chunks_[s / chunk_size] != nullptr;
  }

  /// Whether an earlier process of the server gave it its id.
  bool is_of_before(slot s) const { return is_earlier((*this)[s].generation); }

  /// Whether its slot is of another table of the server.
  bool is_elsewhere(closure_id id) const {
    return !is_mine(slot_of(id)) && slot_of(id) / chunk_size < wide_.chunks;
  }

  /// Slot of a living closure, or no_slot.
  slot find(closure_id id) const {
    slot const s = slot_of(id);
    if (!is_mine(s)) return no_slot;
    auto const& r = (*this)[s];
    return r.owner != session_number{} && r.generation == raw(id) >> 32 ? s : no_slot;
  }

  slot allocate(session_number owner) {
    slot s = free_;
    if (s != no_slot)
      free_ = (*this)[s].next;
    else
      s = next_fresh();
    auto& r = (*this)[s];
    r.owner = owner;
    r.next = no_slot;
    r.finished = {};  // the note of the one before; see release
    ++size_;
    return s;
  }

  /// The slot of this very id, of an earlier process. REQUIRES: nobody has it; end_of_claims
  /// follows before anything is allocated.
  slot claim(closure_id id, session_number owner) {
    slot const s = slot_of(id);
    auto const n = s / chunk_size;
    if (!is_mine(s)) {
      add_chunk(n);
      claimed_.push_back(n);
      wide_.chunks = std::max(wide_.chunks, n + 1);
    }
    auto& r = (*this)[s];
    check(r.owner == session_number{}, "an id is claimed once");
    r.owner = owner;
    r.generation = static_cast<std::uint32_t>(raw(id) >> 32);
    ++size_;
    return s;
  }
  /// The slots between those that were claimed are free.
  void end_of_claims() {
    for (auto const n : std::exchange(claimed_, {}))
      for (slot i = chunk_size; i-- > 0;) {
        auto& r = chunks_[n][i];
        if (r.owner != session_number{}) continue;
        r.next = free_;
        free_ = n * chunk_size + i;
      }
  }

  /// The note stays until the slot is used again. REQUIRES: in no list.
  void release(slot s, release_note note) {
    auto& r = (*this)[s];
    check(r.owner != session_number{}, "a closure is released once");
    auto const generation = generation_after(r.generation);
    std::destroy_at(&r);
    std::construct_at(&r);
    r.generation = generation;
    r.finished = note.at;
    r.why_released = note.why;
    --size_;
    if (generation == wide_.end_generation) return;  // worn out: the id would be the next process's
    r.next = free_;
    free_ = s;
  }

  /// Of a released closure whose slot nobody has used since.
  std::optional<release_note> note_of(closure_id id) const {
    slot const s = slot_of(id);
    if (!is_mine(s)) return {};
    auto const& r = (*this)[s];
    if (r.owner != session_number{} ||
        r.generation != generation_after(static_cast<std::uint32_t>(raw(id) >> 32)))
      return {};
    return release_note{r.why_released, r.finished};
  }

  std::size_t size() const { return size_; }
  /// Slots in use begin and end below it.
  std::uint64_t slots_end() const { return std::uint64_t{chunks_.size()} * chunk_size; }
  /// From slot `from` on, as long as `units` last: going past one costs 1; `f(slot, record)` says
  /// what a living one costs beyond that, or nothing to end behind it. Where to go on.
  template <class F>
  std::uint64_t walk_from(std::uint64_t from, std::size_t units, F f) const {
    for (; from < slots_end() && units > 0; --units) {
      auto const* chunk = chunks_[from / chunk_size].get();
      if (!chunk) {
        from = (from / chunk_size + 1) * chunk_size;
        continue;
      }
      auto const& r = chunk[from++ % chunk_size];
      if (r.owner == session_number{}) continue;
      std::optional<std::size_t> const cost = f(static_cast<slot>(from - 1), r);
      if (!cost) break;
      units -= std::min(units - 1, *cost);
    }
    return from;
  }
  /// Every living closure, by slot.
  template <class F>
  void for_each(F f) const {
    for (std::uint32_t n = 0; n < chunks_.size(); ++n) {
      if (!chunks_[n]) continue;
      for (slot i = 0; i < chunk_size; ++i)
        if (chunks_[n][i].owner != session_number{}) f(n * chunk_size + i, chunks_[n][i]);
    }
  }

  void push_back(slot_list& l, slot s) {
    auto& r = (*this)[s];
    r.previous = l.back;
    r.next = no_slot;
    (l.back == no_slot ? l.front : (*this)[l.back].next) = s;
    l.back = s;
    ++l.size;
  }
  void push_front(slot_list& l, slot s) {
    auto& r = (*this)[s];
    r.previous = no_slot;
    r.next = l.front;
    (l.front == no_slot ? l.back : (*this)[l.front].previous) = s;
    l.front = s;
    ++l.size;
  }
  void remove(slot_list& l, slot s) {
    auto& r = (*this)[s];
    (r.previous == no_slot ? l.front : (*this)[r.previous].next) = r.next;
    (r.next == no_slot ? l.back : (*this)[r.next].previous) = r.previous;
    r.previous = r.next = no_slot;
    --l.size;
  }

 private:
  static constexpr slot chunk_size = server_wide::chunk_size;

  void add_chunk(std::uint32_t n) {
    if (n >= chunks_.size()) chunks_.resize(n + std::size_t{1});
    chunks_[n] = std::make_unique<closure_record[]>(chunk_size);
    for (slot i = 0; i < chunk_size; ++i) chunks_[n][i].generation = wide_.first_generation;
  }
  slot next_fresh() {
    if (fresh_ == fresh_end_) {
      check(wide_.chunks < server_wide::chunks_max, "slots last as long as the server");
      add_chunk(wide_.chunks);
      fresh_ = wide_.chunks++ * chunk_size;
      fresh_end_ = fresh_ + chunk_size;
    }
    return fresh_++;
  }
  // An earlier process may have given the ids that follow one of its own, and what it gave is not
  // known. So those go on where this one's begin; "earlier" as on a clock, as they come round.
  std::uint32_t generation_after(std::uint32_t g) const {
    return is_earlier(g) ? wide_.first_generation : g + 1 == 0 ? 1 : g + 1;
  }
  bool is_earlier(std::uint32_t g) const {
    constexpr std::uint32_t half = std::uint32_t{1} << 31;
    return g - wide_.first_generation >= half;
  }

  server_wide& wide_;
  std::vector<std::unique_ptr<closure_record[]>> chunks_;  // by number; null: another table's
  slot free_ = no_slot;
  slot fresh_ = 0;      // the next of the newest chunk, and…
  slot fresh_end_ = 0;  // …behind its last; 2^32 is 0 again
  std::size_t size_ = 0;
  std::vector<std::uint32_t> claimed_;  // chunks, until end_of_claims
};

}  // namespace muster::core
