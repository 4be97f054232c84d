// Checks the alerts of all clusters and sends notifications of changes. Owned by websocket_hub;
// used on the web thread.
#pragma once

#include <chrono>

#include "web/engine/engine_link.hpp"
#include "web/http/web_options.hpp"
#include "web/notices/notices.hpp"

namespace muster::web {

class notification_watch {
 public:
  static constexpr auto every = std::chrono::seconds(2);

  /// REQUIRES: `to` and `engine` outlive the object.
  notification_watch(web_notifications const& to, engine_link& engine, core::time_point started)
      : to_(to), engine_(engine), board_(started) {}

  /// Does nothing if no check is due. If the engine does not answer, the next call tries again.
  coro::task<void> look();

 private:
  web_notifications const& to_;
  engine_link& engine_;
  notification_board board_;
  std::chrono::steady_clock::time_point last_check_{};
};

}  // namespace muster::web
