// How handlers reach a cluster on the engine thread, and wait for its coordination service.
#pragma once

#include <string_view>

#include "web/engine/gateway.hpp"
#include "web/rest/context.hpp"

namespace muster::web {

namespace coordination = core::coordination;

/// The cluster of that name; `default` is the main port's when no cluster is called so. NOT_FOUND.
muster::result<coordination::cluster_id> find_cluster(engine_room& room, std::string_view name);

/// A fault as the problem it is over REST.
muster::status to_status(coordination::fault const& f);

/// Asks the cluster's service (engine thread); `then(reply)` gives what the slot is sent. The
/// question is withdrawn when the client goes away.
template <class R, class Request, class Then>
void ask_cluster(engine_room& room, coordination::cluster_id c, Request r,
                 answer_handle<muster::result<R>> const& slot, Then then) {
  auto const call = room.coordination.ask(c, std::move(r), [slot, then](coordination::reply& got) {
    if (got.fault)
      slot->send(to_status(*got.fault));
    else
      slot->send(then(got));
  });
  slot->when_left([c, call](engine_room& there) { there.coordination.forget(c, call); });
}

}  // namespace muster::web
