// Checks the alerts of all clusters and sends notices of changes. Owned by websocket_hub, web
// thread.
#pragma once

#include <chrono>

#include "web/engine/engine_link.hpp"
#include "web/http/web_options.hpp"
#include "web/notices/notices.hpp"

namespace muster::web {

class notice_watch {
 public:
  static constexpr auto every = std::chrono::seconds(2);

  /// REQUIRES: `to` and `engine` outlive it.
  notice_watch(web_notices const& to, engine_link& engine, core::time_point started)
      : to_(to), engine_(engine), board_(started) {}

  /// Does nothing if no check is due. If the engine does not answer, tries again at the next check.
  coro::task<void> look();

 private:
  web_notices const& to_;
  engine_link& engine_;
  notice_board board_;
  std::chrono::steady_clock::time_point looked_{};
};

}  // namespace muster::web
