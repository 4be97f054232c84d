// Copies the facts that the rules in alerts.hpp need. Used on the web thread; reads from
// the engine in steps.
#pragma once

#include "server/hub/access/cluster_scope.hpp"
#include "web/alerts/alerts.hpp"
#include "web/engine/engine_link.hpp"

namespace muster::web {

coro::task<muster::result<alert_facts>> collect_alerts(engine_link& engine, std::string cluster);
coro::task<muster::result<alert_facts>> collect_alerts(engine_link& engine,
                                                       server::shared_scope scope);

}  // namespace muster::web
