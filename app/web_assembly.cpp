#include "app/web_assembly.hpp"

#include <algorithm>

#include "web/server/documentation.hpp"

namespace muster::server {
namespace {

web::web_options options_from(engine_assembly const& engine, perimeter& p, store_assembly& store,
                              access& entry, wire_assembly& wire, history_keeper& history,
                              webhook_sender* webhooks) {
  auto const& c = engine.config;
  auto o = c.web;
  o.address = c.http.address;
  o.port = c.http.port;
  o.tls.client_required = c.tls.client_required;
  o.connections_max = std::min(o.connections_max, share_of_files(o.connections_max, 2));
  o.half_open_per_address_max = share_of_files(o.half_open_per_address_max, 8);
  o.main_cluster = main_cluster_of(c);
  o.tls.secure_cookies = c.tls.on();
  o.manager = &p.manager();
  o.tls.files = p.tls();
  o.out_of_descriptors = p.out_of_descriptors();
  o.waiting = [&store] { return store.leadership().waiting(); };
  o.grpc_connections = [&wire] { return wire.connections(); };
  o.boot = engine.incarnation;
  o.gate = &entry.gate();
  o.outlets.notices.page = c.webhooks.page;
  if (webhooks) {
    o.outlets.notices.send = [webhooks](std::string json) { webhooks->send(std::move(json)); };
    o.outlets.notices.counts = [webhooks] { return webhooks->counts(); };
  }
  o.read_only = c.is_read_only();
  if (o.docs_dir.empty()) o.docs_dir = web::installed_documentation();
  o.outlets.charts.earlier = [&history] { return history.take_chart_points(); };
  o.outlets.charts.keep = [&history](history::chart_point const& one) { history.keep(one); };
  o.outlets.past = &history.past();
  return o;
}

}  // namespace

web_assembly::web_assembly(engine_assembly& engine, perimeter& p, store_assembly& store,
                           access& entry, wire_assembly& wire, torch_assembly& torch,
                           history_keeper& history, webhook_sender* webhooks)
    : gateway_(engine.context(), [&leadership = store.leadership()] { leadership.check(); },
               {store.pools(), store.coordination(), engine.events(), wire.endpoints(),
                store.blobs(), &entry.keeper(), torch.stores()}),
      server_(options_from(engine, p, store, entry, wire, history, webhooks), gateway_,
              p.relays()) {}

std::string web_assembly::start() {
  auto const bound = server_.listen();
  if (!bound) throw start_error("--http: " + bound.error().message);
  thread_ = named_thread("web", [this] { server_.run(); });
  return *bound;
}

void web_assembly::stop(std::chrono::milliseconds grace) {
  server_.stop(grace);
  thread_.join();
}

}  // namespace muster::server
