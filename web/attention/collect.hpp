// Copies what the rules of attention.hpp look at. Web thread; looks at the engine in steps.
#pragma once

#include "server/hub/access/cluster_scope.hpp"
#include "web/attention/attention.hpp"
#include "web/engine/engine_link.hpp"

namespace muster::web {

/// `cluster`: of this one alone. NOT_FOUND, or UNAVAILABLE as engine_link says.
coro::task<muster::result<attention_facts>> collect_attention(engine_link& engine,
                                                              std::string cluster);
/// Of all clusters in scope.
coro::task<muster::result<attention_facts>> collect_attention(engine_link& engine,
                                                              server::shared_scope scope);

}  // namespace muster::web
