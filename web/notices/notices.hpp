// What of the alerts is told to whoever does not look: those that have begun, and live ones that
// are over, each once. Pure but for its own memory; one thread.
//
//   not there ──seen──► seen once ──seen again, told──► known ──gone, told if it was live──► not
//   there
//
// An alert that is gone at the next look was nothing for people. What began before the server did
// is known from the start, so that a restart repeats nothing.
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

class notice_board {
 public:
  /// Alerts that are remembered. Full: more are not told of.
  static constexpr std::size_t known_max = 10'000;

  explicit notice_board(core::time_point started) : started_(started) {}

  /// All that there are now.
  notice look(alerts const& now);

 private:
  struct known {
    alert what;
    bool told = false;
    bool here = true;
  };

  core::time_point const started_;
  bool looked_ = false;
  std::map<std::string, known> known_;  // by key_of
};

/// As Slack and those who speak its form take it: a text, and an attachment for each of at most 20.
/// `page`: in front of links, "https://muster.example"; empty: there are none.
std::string slack_text(notice const& n, std::string_view page);

}  // namespace muster::web
