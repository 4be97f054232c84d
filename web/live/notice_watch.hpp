// Looks at the alerts of all clusters for those who do not look, while somebody is to be told.
// Owned by websocket_hub, web thread.
#pragma once

#include <chrono>

#include "web/engine/engine_link.hpp"
#include "web/http/web_options.hpp"
#include "web/notices/notices.hpp"

namespace muster::web {

class notice_watch {
 public:
  static constexpr auto every = std::chrono::seconds(2);

  /// Both outlive it.
  notice_watch(web_notices const& to, engine_link& engine, core::time_point started)
      : to_(to), engine_(engine), board_(started) {}

  /// Nothing, where it is not due. An engine that does not answer is asked again the next time.
  coro::task<void> look();

 private:
  web_notices const& to_;
  engine_link& engine_;
  notice_board board_;
  std::chrono::steady_clock::time_point looked_{};
};

}  // namespace muster::web
