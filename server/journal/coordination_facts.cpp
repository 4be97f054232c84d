#include <algorithm>
#include <cstdio>
#include <limits>

#include "muster/journal/v1/records.pb.h"
#include "server/core/coordination/barriers/barrier.hpp"
#include "server/journal/entries.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/times.hpp"

namespace muster::server::journal {
namespace {

namespace coordination = core::coordination;
namespace wire = muster::journal::v1;
using namespace std::string_view_literals;

// "t\0CLUSTER\0": what is kept of a cluster begins so, by kind.
std::string prefix_of(char kind, std::string const& cluster) {
  return std::string(1, kind) + '\0' + cluster + '\0';
}

std::string task_key(std::string const& cluster, coordination::task_index t) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%08u", t);
  return prefix_of('t', cluster) + digits;
}

void encode(coordination::cluster_spec const& s, wire::ClusterSpec& into) {
  into.set_name(s.name);
  into.set_service_type(s.service_type);
  for (auto const& j : s.jobs) {
    auto& job = *into.add_jobs();
    job.set_name(j.name);
    job.set_tasks(j.tasks);
    job.set_recoverable(j.recoverable);
  }
  into.set_heartbeat_timeout(s.heartbeat_timeout.count());
  into.set_connection_grace(s.connection_grace.count());
  into.set_register_timeout(s.register_timeout.count());
  into.set_shutdown_timeout(s.shutdown_timeout.count());
  into.set_register_barrier(s.register_barrier);
  into.set_recoverable(s.recoverable);
  into.set_allow_reconnect(s.allow_reconnect);
  into.set_renew(s.renew);
  into.set_stuck_after(s.stuck_after.count());
  into.set_error_delivery(static_cast<std::uint32_t>(s.errors));
  into.set_agents_tls(s.agents == coordination::agent_wire::tls);
  if (s.torch_port) into.set_torch_port(*s.torch_port);
  into.set_torch_era_b(s.torch == coordination::torch_era::b);
  into.set_has_stateful_jobs(s.stateful_jobs.has_value());
  if (s.stateful_jobs)
    for (auto const& j : *s.stateful_jobs) into.add_stateful_jobs(j);
}

coordination::cluster_spec decoded(wire::ClusterSpec const& w) {
  coordination::cluster_spec s;
  s.name = w.name();
  s.service_type = w.service_type();
  for (auto const& j : w.jobs()) s.jobs.push_back({j.name(), j.tasks(), j.recoverable()});
  s.heartbeat_timeout = core::duration(w.heartbeat_timeout());
  s.connection_grace = core::duration(w.connection_grace());
  s.register_timeout = core::duration(w.register_timeout());
  s.shutdown_timeout = core::duration(w.shutdown_timeout());
  s.register_barrier = w.register_barrier();
  s.recoverable = w.recoverable();
  s.allow_reconnect = w.allow_reconnect();
  s.renew = w.renew();
  s.stuck_after = core::duration(w.stuck_after());
  if (w.error_delivery() <= 2) s.errors = coordination::error_delivery(w.error_delivery());
  if (w.agents_tls()) s.agents = coordination::agent_wire::tls;
  if (w.has_torch_port()) s.torch_port = static_cast<std::uint16_t>(w.torch_port());
  if (w.torch_era_b()) s.torch = coordination::torch_era::b;
  if (w.has_stateful_jobs())
    s.stateful_jobs.emplace(w.stateful_jobs().begin(), w.stateful_jobs().end());
  return s;
}

void encode(coordination::fault const& f, wire::Fault& into) {
  into.set_code(static_cast<std::uint32_t>(f.code));
  into.set_message(f.message);
  into.set_coordination(f.coordination);
  if (f.source != coordination::no_task) into.set_source(f.source);
  into.set_reported(f.reported);
  if (f.barrier) {
    into.set_barrier_id(f.barrier->id);
    into.set_barrier_counter(f.barrier->counter);
  }
  if (f.mismatch) into.set_mismatch(raw(*f.mismatch));
}

coordination::fault_ptr decoded(wire::Fault const& w) {
  auto f = std::make_shared<coordination::fault>();
  f->code = static_cast<muster::code>(w.code());
  f->message = w.message();
  f->coordination = w.coordination();
  f->source = w.has_source() ? w.source() : coordination::no_task;
  f->reported = w.reported();
  if (w.has_barrier_counter()) f->barrier = {w.barrier_id(), w.barrier_counter()};
  if (w.has_mismatch()) f->mismatch = core::incarnation{w.mismatch()};
  return f;
}

coordination::cluster_fact decoded(wire::Cluster const& w) {
  coordination::cluster_fact f;
  f.spec = decoded(w.spec());
  if (w.has_next()) f.next = decoded(w.next());
  f.generation = w.generation();
  f.incarnation = core::incarnation{w.incarnation()};
  f.started = time(w.started());
  f.ended = time(w.ended());
  f.failed = w.failed();
  f.refuses = w.refuses();
  if (w.port() <= std::numeric_limits<std::uint16_t>::max())
    f.port = static_cast<std::uint16_t>(w.port());
  if (w.has_cause())
    f.cause = {w.cause().task(), w.cause().peer(), w.cause().message(), time(w.cause().at())};
  f.cause_task = w.has_cause_task() ? w.cause_task() : coordination::no_task;
  f.victims.assign(w.victims().begin(), w.victims().end());
  if (w.has_broadcast()) f.broadcast = decoded(w.broadcast());
  return f;
}

coordination::task_fact decoded(coordination::task_index t, wire::Task const& w) {
  return {t,
          static_cast<coordination::agent_state>(w.state()),
          w.recoverable(),
          w.casualty(),
          w.ever_connected(),
          core::incarnation{w.incarnation()},
          w.has_error() ? decoded(w.error()) : nullptr,
          time(w.registered_at()),
          time(w.grace_until()),
          w.hears_notices()};
}

coordination::key_fact decoded(std::string key, wire::Key const& w) {
  return {std::move(key), core::blob(w.value(), static_cast<core::encoding>(w.encoding() & 1)),
          time(w.changed())};
}

coordination::barrier_fact decoded(std::string id, wire::Barrier const& w) {
  coordination::barrier_fact f{.id = std::move(id)};
  f.counter = w.counter();
  f.purpose = static_cast<std::uint8_t>(w.purpose());
  if (w.some()) f.who.emplace(w.who().begin(), w.who().end());
  if (w.has_result()) f.result = decoded(w.result());
  if (w.has_result_before()) f.result_before = decoded(w.result_before());
  f.ended = time(w.ended());
  return f;
}

// Appends what has to be written for a fact.
struct encoder {
  std::string const& cluster;
  std::vector<change>& into;

  void operator()(coordination::cluster_fact const& f) const {
    auto const& name = f.spec.name;
    if (f.anew)
      for (char const kind : {'t', 'k', 'b'})
        into.push_back({change::kind::erase_below, prefix_of(kind, name), {}});
    wire::Cluster w;
    encode(f.spec, *w.mutable_spec());
    if (f.next) encode(*f.next, *w.mutable_next());
    w.set_generation(f.generation);
    w.set_incarnation(raw(f.incarnation));
    w.set_started(us(f.started));
    w.set_ended(us(f.ended));
    w.set_failed(f.failed);
    w.set_refuses(f.refuses);
    w.set_port(f.port);
    if (f.cause) {
      w.mutable_cause()->set_task(f.cause->task);
      w.mutable_cause()->set_peer(f.cause->peer);
      w.mutable_cause()->set_message(f.cause->message);
      w.mutable_cause()->set_at(us(f.cause->at));
    }
    if (f.cause_task != coordination::no_task) w.set_cause_task(f.cause_task);
    for (auto const t : f.victims) w.add_victims(t);
    if (f.broadcast) encode(*f.broadcast, *w.mutable_broadcast());
    into.push_back({change::kind::put, prefix_of('c', name), w.SerializeAsString()});
  }

  void operator()(coordination::task_fact const& f) const {
    wire::Task w;
    w.set_state(static_cast<std::uint32_t>(f.state));
    w.set_recoverable(f.recoverable);
    w.set_casualty(f.casualty);
    w.set_ever_connected(f.ever_connected);
    w.set_incarnation(raw(f.incarnation));
    if (f.error) encode(*f.error, *w.mutable_error());
    w.set_registered_at(us(f.registered_at));
    w.set_grace_until(us(f.grace_until));
    w.set_hears_notices(f.hears_notices);
    into.push_back({change::kind::put, task_key(cluster, f.task), w.SerializeAsString()});
  }

  void operator()(coordination::key_fact const& f) const {
    auto key = prefix_of('k', cluster) + f.key;
    if (!f.value) return into.push_back({change::kind::erase, std::move(key), {}});
    wire::Key w;
    w.set_value(f.value->view().data(), f.value->size());
    w.set_encoding(static_cast<std::uint32_t>(f.value->encoding()));
    w.set_changed(us(f.changed));
    into.push_back({change::kind::put, std::move(key), w.SerializeAsString()});
  }

  void operator()(coordination::barrier_fact const& f) const {
    auto key = prefix_of('b', cluster) + f.id;
    if (f.forgotten) return into.push_back({change::kind::erase, std::move(key), {}});
    wire::Barrier w;
    w.set_counter(f.counter);
    w.set_purpose(f.purpose);
    w.set_some(f.who.has_value());
    if (f.who)
      for (auto const t : *f.who) w.add_who(t);
    if (f.result) encode(*f.result, *w.mutable_result());
    if (f.result_before) encode(*f.result_before, *w.mutable_result_before());
    w.set_ended(us(f.ended));
    into.push_back({change::kind::put, std::move(key), w.SerializeAsString()});
  }

  void operator()(coordination::cluster_gone const&) const {
    for (char const kind : {'c', 't', 'k', 'b'})
      into.push_back({change::kind::erase_below, prefix_of(kind, cluster), {}});
  }
};

// Everything of one kind of a cluster: `take(rest of the key, message)`.
template <class Message, class Take>
muster::status each(store const& s, char kind, std::string const& cluster, Take take) {
  auto const prefix = prefix_of(kind, cluster);
  std::string damaged;
  auto const read = s.read(prefix, [&](std::string_view key, std::string_view value) {
    Message m;
    auto const rest = key.substr(prefix.size());
    if (read_message(m, value) && take(rest, m)) return true;
    damaged = rest;
    return false;
  });
  if (!read.ok() || damaged.empty()) return read;
  return {code::internal, std::string("entry ") + kind + " \"" + damaged + "\" of cluster '" +
                              cluster + "' cannot be read"};
}

muster::status load(store const& s, coordination::restored_cluster& into) {
  auto const& name = into.cluster.spec.name;
  auto const tasks =
      each<wire::Task>(s, 't', name, [&](std::string_view rest, wire::Task const& w) {
        auto const t = std::strtoul(std::string(rest).c_str(), nullptr, 10);
        into.tasks.push_back(decoded(static_cast<coordination::task_index>(t), w));
        return t < into.cluster.spec.size() && w.state() >= 2 && w.state() <= 4 &&
               (w.state() == 4) == w.has_error();
      });
  if (!tasks.ok()) return tasks;
  auto const keys = each<wire::Key>(s, 'k', name, [&](std::string_view rest, wire::Key const& w) {
    into.keys.push_back(decoded(std::string(rest), w));
    return true;
  });
  if (!keys.ok()) return keys;
  auto const barriers =
      each<wire::Barrier>(s, 'b', name, [&](std::string_view rest, wire::Barrier const& w) {
        into.barriers.push_back(decoded(std::string(rest), w));
        auto const& who = into.barriers.back().who;
        return w.purpose() <= 3 && w.counter() >= 0 &&
               (!who || (std::is_sorted(who->begin(), who->end()) && !who->empty() &&
                         who->back() < into.cluster.spec.size()));
      });
  std::stable_sort(into.barriers.begin(), into.barriers.end(),
                   [](auto const& a, auto const& b) { return a.ended < b.ended; });
  return barriers;
}

}  // namespace

void encode(std::vector<coordination::fact> const& facts, std::vector<change>& into) {
  for (auto const& f : facts) std::visit(encoder{f.cluster, into}, f.what);
}

muster::result<std::vector<coordination::restored_cluster>> load_clusters(store const& s) {
  std::vector<coordination::restored_cluster> all;
  std::string damaged;
  auto const read = s.read("c\0"sv, [&](std::string_view key, std::string_view value) {
    wire::Cluster w;
    if (!read_message(w, value) || !coordination::validate(decoded(w.spec())).ok()) {
      damaged = key.substr(2);
      return false;
    }
    all.emplace_back().cluster = decoded(w);
    return true;
  });
  if (!read.ok()) return read;
  if (!damaged.empty())
    return muster::status{code::internal, "the entry of cluster '" + damaged + "' cannot be read"};
  for (auto& c : all)
    if (auto const loaded = load(s, c); !loaded.ok()) return loaded;
  return all;
}

}  // namespace muster::server::journal
