// Selects alerts for notifications: new alerts, and live alerts that have ended, each once. Keeps
// state only about known alerts. Not thread-safe.
//
// States of an alert:
//
//   absent ──seen──► seen once ──seen again, sent──► known ──ended, sent if it was live──► absent
//
// An alert that has ended by the next check is not sent. An alert that began before the server
// started counts as known, so that a restart repeats no notification.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "web/alerts/alerts.hpp"

namespace muster::web {

struct notice {
  std::vector<alert> began, over;

  bool empty() const { return began.empty() && over.empty(); }
};

class notification_board {
 public:
  /// Limit of remembered alerts. Further alerts are not sent.
  static constexpr std::size_t known_max = 10'000;

  explicit notification_board(core::time_point started) : started_(started) {}

  notice look(alerts const& now);

 private:
  struct known {
    alert what;
    bool told = false;
    bool here = true;
  };

  core::time_point const started_;
  bool checked_once_ = false;
  std::map<std::string, known> known_;
};

/// Returns a text and at most 20 attachments in Slack's format, one for each alert. `page` is the
/// base URL of links; if empty, there are no links.
std::string slack_text(notice const& n, std::string_view page);

}  // namespace muster::web
