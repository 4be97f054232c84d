// One record for each known closure, in chunks that never move. The core's sub-models share the
// records; the comment on a field can name the owning sub-model.
//
// A closure_id is slot | generation << 32, so a lookup is an index and a comparison. Records are
// linked into lists by slot number, so moving a closure allocates no memory. Slot numbers are
// unique in the server, because tables allocate chunks from a common supply.
//
// Owned by the coordinator; used only on the engine thread. Limited by config::closures_max.
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
  std::uint32_t place = 0;  // index into the place_table
  time_point started{};
  time_point ended{};
  attempt_outcome outcome;
  blame blamed = blame::none;
};

struct closure_details {
  core::failure failure;
  std::vector<attempt_record> lost;  // all attempts except the last, oldest first
  std::shared_ptr<closure_extras const> extras;
  std::shared_ptr<std::vector<blob>> inputs;
  std::vector<closure_id> input_ids;
  // Closures that wait or waited for this closure; they may have been forgotten.
  std::vector<closure_id> dependents;
  std::uint32_t inputs_missing = 0;
  std::uint64_t gang = 0;     // key in the gang_table until the gang starts; otherwise 0
  std::uint32_t retries = 0;  // retries after errors that the function raised
  time_point start_at{};
  std::uint32_t workers_lost = 0;  // losses of workers or processes that the closure is blamed for
  std::uint32_t processes_ended = 0;
  time_point deadline = never;
  time_point exclusive_since{};
  time_point ready_at{};  // last time it became ready; the epoch if it was created ready
};

struct release_note {
  release_reason why{};
  time_point at{};
  std::uint64_t bytes = 0;  // size of the value, or of the blob that it refers to
};

struct closure_record {
  session_number owner{};  // 0 if the slot is free
  worker_number worker{};  // worker that runs or prefetches the closure
  std::unique_ptr<closure_details> details;
  blob args;
  blob value;  // the result, owned by values/
  std::uint64_t token = 0;
  time_point created{};
  time_point started{};   // start of the newest attempt; the dispatch time while prefetched
  time_point finished{};  // end of the closure; in a free slot, the release time
  std::uint32_t generation = 1;
  slot previous = no_slot;  // list links; free slots use only `next`
  slot next = no_slot;
  std::uint32_t order = 0;
  std::uint32_t queue = 0;  // index of the queue in the session; owned by scheduling/
  std::uint32_t attempt = 0;
  std::uint32_t place = ~0u;
  function_id function{};
  closure_phase phase = closure_phase::queued;  // set only by closure_book
  std::uint8_t worker_failures = 0;
  bool timed_out : 1 = false;
  bool stop_requested : 1 = false;
  bool awaited : 1 = false;    // whether a waiting call needs the value
  bool released : 1 = false;   // whether the client of a resumable session released the value
  bool reported : 1 = false;   // if running, whether the worker has reported the start
  bool retracted : 1 = false;  // if prefetched, whether the worker was asked to return it
  bool exclusive : 1 = false;  // whether the worker runs nothing else; see exclusive_table.hpp
  value_place where : 2 = value_place::memory;  // owned by values/
  release_reason why_released : 4 = {};         // set only in a free slot
  // Whether the closure ran in an earlier server process; the worker may still run it.
  bool restored : 1 = false;
  bool noted : 1 = false;      // whether a fact records that the closure is running
  bool waits : 1 = false;      // if running, whether it waits for a value without a slot
  bool own_error : 1 = false;  // see closure_spec::own_error

  closure_state state() const { return state_of(phase); }
  bool is(closure_phase p) const { return phase == p; }
  bool sent() const { return phase == closure_phase::prefetched; }
  /// Returns whether the closure waits for something other than a worker.
  bool deferred() const { return phase < closure_phase::queued; }

  /// Returns whether the closure may have caused the loss of its last worker or process.
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

struct slot_list {
  slot front = no_slot;
  slot back = no_slot;
  std::uint32_t size = 0;
};

class closure_table {
 public:
  /// `wide` must outlive the table.
  explicit closure_table(server_wide& wide) : wide_(wide) {}

  closure_record& operator[](slot s) { return chunks_[s / chunk_size][s % chunk_size]; }
  closure_record const& operator[](slot s) const { return chunks_[s / chunk_size][s % chunk_size]; }

  [[gnu::always_inline]] closure_id id_of(slot s) const {
    return closure_id{std::uint64_t{(*this)[s].generation} << 32 | s};
  }
  static slot slot_of(closure_id id) { return static_cast<slot>(raw(id)); }

  /// Returns whether this table owns the slot, which may be free.
  bool owns_slot(slot s) const {
    return s / chunk_size < chunks_.size() && chunks_[s / chunk_size] != nullptr;
  }

  bool is_from_earlier_process(slot s) const { return is_earlier((*this)[s].generation); }

  bool is_in_other_table(closure_id id) const {
    return !owns_slot(slot_of(id)) && slot_of(id) / chunk_size < wide_.chunks;
  }

  /// Returns no_slot if the closure is unknown.
  slot find(closure_id id) const {
    slot const s = slot_of(id);
    if (!owns_slot(s)) return no_slot;
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
    r.finished = {};  // removes the previous release_note
    ++size_;
    return s;
  }

  /// Allocates the slot of an id from an earlier process. REQUIRES: the id is unused;
  /// end_of_claims() is called before the next allocation.
  slot claim(closure_id id, session_number owner) {
    slot const s = slot_of(id);
    auto const n = s / chunk_size;
    if (!owns_slot(s)) {
      add_chunk(n);
      claimed_.push_back(n);
      wide_.chunks = std::max(wide_.chunks, n + 1);
    }
    auto& r = (*this)[s];
    check(r.owner == session_number{}, "a closure id must not be used twice");
    r.owner = owner;
    r.generation = static_cast<std::uint32_t>(raw(id) >> 32);
    ++size_;
    return s;
  }
  /// Frees the unclaimed slots of claimed chunks.
  void end_of_claims() {
    for (auto const n : std::exchange(claimed_, {}))
      for (slot i = chunk_size; i-- > 0;) {
        auto& r = chunks_[n][i];
        if (r.owner != session_number{}) continue;
        r.next = free_;
        free_ = n * chunk_size + i;
      }
  }

  /// Frees the slot. The note is kept until the slot is reused. REQUIRES: the slot is in no list.
  void release(slot s, release_note note) {
    auto& r = (*this)[s];
    check(r.owner != session_number{}, "a closure must not be released twice");
    auto const generation = generation_after(r.generation);
    std::destroy_at(&r);
    std::construct_at(&r);
    r.generation = generation;
    r.finished = note.at;
    r.why_released = note.why;
    --size_;
    // The next ids of the slot are reserved for the next server process.
    if (generation == wide_.end_generation) return;
    r.next = free_;
    free_ = s;
  }

  /// Returns the note of a released closure if its slot has not been reused.
  std::optional<release_note> note_of(closure_id id) const {
    slot const s = slot_of(id);
    if (!owns_slot(s)) return {};
    auto const& r = (*this)[s];
    if (r.owner != session_number{} ||
        r.generation != generation_after(static_cast<std::uint32_t>(raw(id) >> 32)))
      return {};
    return release_note{r.why_released, r.finished};
  }

  std::size_t size() const { return size_; }
  /// Returns an upper bound of the used slot numbers.
  std::uint64_t slots_end() const { return std::uint64_t{chunks_.size()} * chunk_size; }
  /// Visits closures, starting at slot `from`, until `units` are spent. Skipping a slot costs 1.
  /// @param f called as `f(slot, record)`; returns the additional cost, or nothing to stop after
  /// this closure
  /// @return slot at which to continue
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
      check(wide_.chunks < server_wide::chunks_max, "the server must not run out of closure ids");
      add_chunk(wide_.chunks);
      fresh_ = wide_.chunks++ * chunk_size;
      fresh_end_ = fresh_ + chunk_size;
    }
    return fresh_++;
  }
  // Returns the generation after `g`. Earlier generations continue with this process's first
  // generation, because it is unknown which ids the earlier process assigned after `g`. Generations
  // wrap, so "earlier" is modulo 2^32.
  std::uint32_t generation_after(std::uint32_t g) const {
    return is_earlier(g) ? wide_.first_generation : g + 1 == 0 ? 1 : g + 1;
  }
  bool is_earlier(std::uint32_t g) const {
    constexpr std::uint32_t half = std::uint32_t{1} << 31;
    return g - wide_.first_generation >= half;
  }

  server_wide& wide_;
  // An element is null if the chunk belongs to another table.
  std::vector<std::unique_ptr<closure_record[]>> chunks_;
  slot free_ = no_slot;
  slot fresh_ = 0;      // next unused slot of the newest chunk
  slot fresh_end_ = 0;  // end of the newest chunk; 2^32 wraps to 0
  std::size_t size_ = 0;
  std::vector<std::uint32_t> claimed_;  // numbers of claimed chunks, kept until end_of_claims()
};

}  // namespace muster::core
