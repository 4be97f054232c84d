// Copies what the rules of alerts.hpp look at. Web thread; looks at the engine in steps.
#pragma once

#include "server/hub/access/cluster_scope.hpp"
#include "web/alerts/alerts.hpp"
#include "web/engine/engine_link.hpp"

namespace muster::web {

/// `cluster`: of this one alone. NOT_FOUND, or UNAVAILABLE as engine_link says.
coro::task<muster::result<alert_facts>> collect_alerts(engine_link& engine, std::string cluster);
/// Of all clusters in scope.
coro::task<muster::result<alert_facts>> collect_alerts(engine_link& engine,
                                                       server::shared_scope scope);

}  // namespace muster::web
