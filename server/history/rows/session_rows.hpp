// Rows of what gRPC sessions had run: a listener that folds closures which leave no record, and the
// ends of their sessions. What a client left behind is no news of a session that has ended.
//
// Owned by the history of a cluster; engine thread only. Limits: those of ended_rows.
#pragma once

#include <optional>
#include <unordered_map>

#include "server/history/names.hpp"
#include "server/history/rows/ended_rows.hpp"

namespace muster::history {

class session_rows {
 public:
  /// All outlive it.
  session_rows(config const& c, server_wide& wide, names const& named)
      : config_(c), names_(named), rows_(c, places_, wide) {}

  void fold(changes const& c);

  /// None when the session has no rows.
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

  /// Null: none is kept of it.
  of_session* owner_of(closure_outline const& o);
  ended_row row_of(closure_outline const& o, std::uint32_t place) const;
  void add(closure_outline const& o, changes const& c);
  /// Adds changes::ended from there on, as far as they are alike; where to go on.
  std::size_t add_run(changes const& c, std::size_t from);

  config const& config_;
  names const& names_;
  places places_;
  ended_rows rows_;
  std::unordered_map<session_id, of_session> sessions_;  // streaming ones
  number_pool<row_owner> numbers_;
  session_id last_{};  // rows come in runs of one session
  of_session* last_of_ = nullptr;
};

}  // namespace muster::history
