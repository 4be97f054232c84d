// Field tables of coordination data; see core/api/described.hpp. Journal entries use the same
// numbers.
#pragma once

#include <utility>

#include "server/core/api/described.hpp"
#include "server/core/coordination/api/coordination_facts.hpp"

namespace muster::core::coordination {

constexpr auto fields_of(std::type_identity<job_spec>) {
  using t = job_spec;
  return fields(field(1, "name", &t::name), field(2, "tasks", &t::tasks),
                field(3, "recoverable", &t::recoverable));
}

constexpr auto fields_of(std::type_identity<cluster_spec>) {
  using t = cluster_spec;
  using enum shown;
  constexpr auto most = 10 * most_year;
  return fields(field(1, "name", &t::name), field(2, "type", &t::service_type),
                field(3, "jobs", &t::jobs).show(by_hand),
                field(14, "stateful", &t::stateful_jobs).show(if_set),
                field(4, "heartbeat_timeout", &t::heartbeat_timeout).between(1, most),
                field(5, "connection_grace", &t::connection_grace).at_most(most),
                field(15, "error_delivery", &t::errors), field(16, "agents", &t::agents),
                field(17, "torch", &t::torch_port)
                    .at_most(65'535)
                    .show(if_set)
                    .text("port of the TCPStore of torch.distributed, as declared"),
                field(18, "torch_era", &t::torch).show(by_hand),
                field(6, "register_timeout", &t::register_timeout).between(1, most),
                field(7, "shutdown_timeout", &t::shutdown_timeout).at_most(most),
                field(12, "stuck_after", &t::stuck_after).between(1, most),
                field(9, "recoverable", &t::recoverable),
                field(10, "allow_reconnect", &t::allow_reconnect),
                field(8, "register_barrier", &t::register_barrier), field(11, "renew", &t::renew));
}

struct fault_entry {
  muster::code code{};
  std::string message{};
  bool coordination = false;
  task_index source = no_task;
  bool reported = false;
  std::string barrier_id{};
  std::optional<std::int64_t> barrier_counter{};
  std::optional<core::incarnation> mismatch{};
};

constexpr auto fields_of(std::type_identity<fault_entry>) {
  using t = fault_entry;
  return fields(
      field(1, "code", &t::code), field(2, "message", &t::message).as_bytes(),
      field(3, "coordination", &t::coordination), field(4, "source", &t::source).absent_if(no_task),
      field(5, "reported", &t::reported), field(6, "barrier_id", &t::barrier_id).as_bytes(),
      field(7, "barrier_counter", &t::barrier_counter),
      field(8, "mismatch", &t::mismatch).as_fixed());
}

inline fault_entry entry_of(fault const& f) {
  fault_entry e{f.code, f.message, f.coordination, f.source, f.reported, {}, {}, f.mismatch};
  if (!f.barrier) return e;
  e.barrier_id = f.barrier->id;
  e.barrier_counter = f.barrier->counter;
  return e;
}
inline bool from_entry(fault_entry e, fault& to) {
  to = {e.code, std::move(e.message), e.coordination, e.source, e.reported, {}, e.mismatch};
  if (e.barrier_counter) to.barrier = {std::move(e.barrier_id), *e.barrier_counter};
  return true;
}

constexpr auto fields_of(std::type_identity<first_cause>) {
  using t = first_cause;
  return fields(field(1, "task", &t::task), field(2, "peer", &t::peer),
                field(3, "message", &t::message).as_bytes(), field(4, "at", &t::at));
}

constexpr auto fields_of(std::type_identity<cluster_fact>) {
  using t = cluster_fact;
  return fields(field(1, "spec", &t::spec), field(2, "next", &t::next),
                field(3, "generation", &t::generation),
                field(4, "incarnation", &t::incarnation).as_fixed(),
                field(5, "started", &t::started), field(6, "ended", &t::ended),
                field(7, "failed", &t::failed), field(8, "cause", &t::cause),
                field(9, "cause_task", &t::cause_task).absent_if(no_task),
                field(10, "victims", &t::victims), field(11, "broadcast", &t::broadcast),
                field(12, "refuses", &t::refuses), field(13, "port", &t::port));
}

constexpr auto fields_of(std::type_identity<task_fact>) {
  using t = task_fact;
  return fields(field(1, "state", &t::state), field(2, "recoverable", &t::recoverable),
                field(3, "casualty", &t::casualty), field(4, "ever_connected", &t::ever_connected),
                field(5, "incarnation", &t::incarnation).as_fixed(), field(6, "error", &t::error),
                field(7, "registered_at", &t::registered_at),
                field(8, "grace_until", &t::grace_until),
                field(9, "hears_notices", &t::hears_notices));
}

constexpr auto fields_of(std::type_identity<key_fact>) {
  return fields(field(1, "value", &key_fact::value).as_bytes(),
                field(3, "changed", &key_fact::changed));
}

constexpr auto fields_of(std::type_identity<barrier_fact>) {
  using t = barrier_fact;
  return fields(field(1, "counter", &t::counter), field(2, "purpose", &t::purpose),
                field(4, "who", &t::who), field(5, "result", &t::result),
                field(6, "result_before", &t::result_before), field(7, "ended", &t::ended));
}

}  // namespace muster::core::coordination
