// Compact rows, without values, for finished closures that have no record, by gRPC session. Each
// session keeps its newest rows, and the newest failures among its older rows. Path of a row:
//
//   add ──► newest chunk ─ … ─ oldest chunk ──if failed──► failures ─ … ─► dropped
//             (session_rows_max)              (session_failures_max)
//
// Rows are appended without allocations, because each closure of a stream gets a row. If all chunks
// together exceed session_rows_bytes_max, the oldest chunk of any session is dropped. Owned by
// session_rows, which assigns the session numbers. Used only on the engine thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/core/api/config.hpp"
#include "server/core/api/server_wide.hpp"
#include "server/core/api/vocabulary.hpp"
#include "server/core/common/numbered.hpp"
#include "server/history/rows/places.hpp"

namespace muster::history {

using namespace muster::core;

/// Number of a session with rows. Numbers are reused.
enum class row_owner : std::uint32_t {};

struct ended_row {
  closure_id id{};
  time_point created{};
  time_point started{};
  time_point finished{};
  std::uint32_t order = 0;  // position in the row's session
  std::uint32_t place = places::none;
  function_id function{};
  std::uint32_t attempt : 24 = 0;  // 0 if never started
  std::uint32_t state : 8 = 0;

  closure_state ended_as() const { return static_cast<closure_state>(state); }
};
static_assert(sizeof(ended_row) == 48, "millions a second are written");

class ended_rows {
 public:
  static constexpr std::size_t chunk_rows = 128;
  /// Maximum length of each failure text, including the ellipsis.
  static constexpr std::size_t text_max = 4096 + 3;

  enum part : std::uint8_t { newest, failures };

  /// All arguments must outlive the object.
  ended_rows(config const& c, places& where, server_wide& wide)
      : config_(c), places_(where), bytes_(wide.row_bytes) {}
  ended_rows(ended_rows const&) = delete;

  void open(row_owner n) { sessions_.open(n); }
  void close(row_owner n);

  /// Returns space for at least one row of closures that ran at this place, or nothing if the
  /// session stores no rows. Call `wrote` afterwards.
  std::span<ended_row> room(row_owner n, std::uint32_t place) {
    auto& s = sessions_[n];
    if (s.free == 0 && !begin_chunk(n, s)) return {};
    auto& c = *chunks_[s.rings[newest].back];
    if (place != c.last_place) hold(c, place);
    return {&c.rows[c.used], s.free};
  }
  void wrote(row_owner n, std::size_t count) {
    auto& s = sessions_[n];
    s.free -= static_cast<std::uint32_t>(count);
    chunks_[s.rings[newest].back]->used += static_cast<std::uint32_t>(count);
  }
  void add(row_owner n, core::failure const& f) {
    keep(*chunks_[sessions_[n].rings[newest].back], f);
  }

  std::uint64_t size(row_owner n) const;
  std::uint64_t bytes() const { return bytes_.used(); }

  /// Calls `f(row, failure or null)` for up to `count` rows of a part, oldest first. Starts at row
  /// number `from`. Returns the number of the next row, if any.
  template <class F>
  std::optional<std::uint64_t> find(row_owner n, part p, std::uint64_t from, std::size_t count,
                                    F f) const {
    if (!sessions_.contains(n)) return {};
    for (auto at = sessions_[n].rings[p].front; at != none; at = chunks_[at]->next) {
      auto const& c = *chunks_[at];
      std::size_t failure = 0;
      for (std::uint32_t i = 0; i < c.used; ++i) {
        auto const* why =
            c.rows[i].ended_as() == closure_state::succeeded ? nullptr : &c.failures[failure++];
        if (c.first + i < from) continue;
        if (count-- == 0) return c.first + i;
        f(c.rows[i], why);
      }
    }
    return {};
  }
  template <class F>
  void for_each(F f) const {
    for (auto const& c : chunks_)
      if (c)
        for (std::uint32_t i = 0; i < c->used; ++i) f(c->rows[i]);
  }

  std::string invalid() const;

 private:
  using chunk_number = std::uint32_t;
  static constexpr chunk_number none = ~chunk_number{0};

  struct chunk {
    std::vector<ended_row> rows = std::vector<ended_row>(chunk_rows);
    std::vector<core::failure> failures;  // failures of unsuccessful rows, in row order
    std::vector<std::uint32_t> ran_at;    // places of the rows, with one reference to each place
    std::uint32_t last_place = places::none;
    row_owner owner{};
    part in = newest;
    std::uint32_t used = 0;
    std::uint64_t first = 0;
    std::uint64_t text_bytes = 0;
    chunk_number previous = none, next = none;  // neighbours in the session's ring
    chunk_number older = none, newer = none;    // neighbours among all chunks, by creation time
  };
  struct ring {
    chunk_number front = none, back = none;
    std::uint32_t chunks = 0;
    std::uint64_t rows = 0;  // counts chunk_rows rows per chunk
  };
  struct of_session {
    std::uint32_t free = 0;
    ring rings[2];
  };

  static constexpr std::size_t chunk_bytes() {
    return sizeof(chunk) + chunk_rows * (sizeof(ended_row) + sizeof(std::uint32_t));
  }
  static std::uint32_t chunks_for(std::size_t rows) {
    return rows == 0 ? 0 : static_cast<std::uint32_t>((rows + chunk_rows - 1) / chunk_rows) + 1;
  }
  bool too_many_bytes() const { return bytes_.over(config_.session_rows_bytes_max); }

  bool begin_chunk(row_owner n, of_session& s);
  chunk& append(row_owner n, part p);
  void keep(chunk& c, core::failure const& f);
  void hold(chunk& c, std::uint32_t place);
  void keep_failures(chunk& c);
  void empty(chunk& c);
  void unlink(chunk_number at);
  void drop(chunk_number at);
  void link(chunk_number at, ring& r);
  void keep_within_bytes();

  config const& config_;
  places& places_;
  numbered<row_owner, of_session> sessions_;
  std::vector<std::unique_ptr<chunk>> chunks_;  // null for an unused number
  std::vector<chunk_number> unused_;
  chunk_number oldest_ = none, newest_ = none;  // by creation time
  budget_share bytes_;
};

}  // namespace muster::history
