// Rows of closures without a record. A session's rows are removed with the session. Owned by a
// cluster's history; used only on the engine thread.
#pragma once

#include <optional>
#include <unordered_map>

#include "server/history/names.hpp"
#include "server/history/rows/ended_rows.hpp"

namespace muster::history {

class session_rows {
 public:
  /// All arguments must outlive the object.
  session_rows(config const& c, server_wide& wide, names const& named)
      : config_(c), names_(named), rows_(c, places_, wide) {}

  void fold(changes const& c);

  std::optional<row_owner> find(session_id s) const {
    auto const it = sessions_.find(s);
    return it == sessions_.end() ? std::nullopt : std::optional(it->second.number);
  }
  ended_rows const& all() const { return rows_; }
  names const& named() const { return names_; }
  places const& where() const { return places_; }

  std::string invalid() const { return rows_.invalid(); }

 private:
  struct of_session {
    row_owner number{};
    bool closed = false;
  };

  /// Returns null if the closure's session stores no rows.
  of_session* owner_of(closure_outline const& o);
  ended_row row_of(closure_outline const& o, std::uint32_t place) const;
  void add(closure_outline const& o, changes const& c);
  /// Adds similar entries of changes::ended, starting at `from`. Returns the next entry's index.
  std::size_t add_run(changes const& c, std::size_t from);

  config const& config_;
  names const& names_;
  places places_;
  ended_rows rows_;
  std::unordered_map<session_id, of_session> sessions_;  // only streaming sessions
  number_pool<row_owner> numbers_;
  session_id last_{};  // consecutive rows usually belong to one session
  of_session* last_of_ = nullptr;
};

}  // namespace muster::history
