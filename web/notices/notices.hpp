// Selects alerts for notices: those that have begun, and live ones that have ended, each once. Pure
// except for its own memory; one thread.
//
//   absent ──seen──► seen once ──seen again, sent──► known ──ended, sent if it was live──► absent
//
// An alert that has ended by the next check is not sent. An alert that began before the server
// started counts as known, so that a restart repeats no notice.
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
  /// Alerts that are remembered; at the limit, further alerts are not sent.
  static constexpr std::size_t known_max = 10'000;

  explicit notification_board(core::time_point started) : started_(started) {}

  /// Takes all current alerts and returns the notice to send.
  notice look(alerts const& now);

 private:
  struct known {
    alert what;
    bool told = false;
    bool here = true;
  };

  core::time_point const started_;
  bool checked_once_ = false;
  std::map<std::string, known> known_;  // by key_of
};

/// Returns a notice in Slack's format: a text, and at most 20 attachments, one per alert. `page`:
/// base URL of links, "https://muster.example"; empty: no links.
std::string slack_text(notice const& n, std::string_view page);

}  // namespace muster::web
