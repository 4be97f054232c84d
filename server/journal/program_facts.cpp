#include "muster/journal/v1/records.pb.h"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/program_keys.hpp"
#include "server/journal/times.hpp"

namespace muster::server::journal {
namespace {

namespace wire = muster::journal::v1;
namespace of_core = core::programs;
using program_keys::kind;

template <class Labels>
void add(core::named_amounts const& all, Labels& to) {
  for (auto const& [name, amount] : all) {
    auto& l = *to.Add();
    l.set_name(name);
    l.set_amount(amount);
  }
}
template <class Texts>
void add(core::named_texts const& all, Texts& to) {
  for (auto const& [name, value] : all) {
    auto& t = *to.Add();
    t.set_name(name);
    t.set_value(value);
  }
}
template <class Words, class To>
void add(Words const& all, To& to) {
  for (auto const& one : all) *to.Add() = one;
}

void encode(core::hang const& h, wire::Hang& into) {
  into.set_evidence(static_cast<std::uint32_t>(h.evidence));
  into.set_rank(h.rank);
  into.set_task(h.task);
  into.set_host(h.host);
  into.set_line(h.line);
  into.set_process(h.process);
  into.set_barrier(h.barrier);
  into.set_waits(h.waits);
  add(h.waiting, *into.mutable_waiting());
  into.set_waiting_line(h.waiting_line);
  into.set_since(us(h.since));
  into.set_found(us(h.found));
}

void encode(core::program_cause const& c, wire::ProgramCause& into) {
  into.set_kind(static_cast<std::uint32_t>(c.kind));
  into.set_rank(c.rank);
  into.set_task(c.task);
  into.set_host(c.host);
  into.set_exit_status(c.exit_status);
  into.set_signal(c.signal);
  into.set_text(c.text);
  add(c.stderr_lines, *into.mutable_stderr());
  if (c.hang) encode(*c.hang, *into.mutable_hang());
  if (!c.coordination) return;
  auto& told = *into.mutable_coordination();
  told.set_code(static_cast<std::uint32_t>(c.coordination->code));
  told.set_task(c.coordination->task);
  told.set_message(c.coordination->message);
}

struct program_encoder {
  std::string const& cluster;  // whose programs they are
  std::vector<change>& into;

  void put(std::string key, google::protobuf::MessageLite const& w) const {
    into.push_back({change::kind::put, std::move(key), w.SerializeAsString()});
  }

  void operator()(of_core::submitted_fact const& f) const {
    auto const& s = *f.spec;
    wire::Program w;
    w.set_cluster(cluster);
    w.set_name(s.name);
    add(s.command, *w.mutable_command());
    for (auto const& t : s.tasks) {
      auto& to = *w.add_tasks();
      to.set_type(t.type);
      to.set_min(t.min);
      to.set_max(t.max);
      add(t.command, *to.mutable_command());
      add(t.resources, *to.mutable_resources());
      add(t.labels, *to.mutable_labels());
    }
    w.set_per_worker(s.per_worker);
    add(s.env, *w.mutable_env());
    w.set_working_dir(s.working_dir);
    w.set_max_restarts(s.max_restarts);
    w.set_grace(s.grace.count());
    w.set_restart_grace(s.restart_grace.count());
    w.set_deadline(s.deadline.count());
    w.set_priority(s.priority);
    add(s.ends_with, *w.mutable_ends_with());
    w.set_idempotency_key(s.idempotency_key);
    w.set_request_digest(s.request_digest);
    w.set_metadata(s.metadata);
    w.set_submitted_by(s.submitted_by);
    w.set_created(us(f.created));
    w.set_notice(s.notice.count());
    w.set_spares(s.spares);
    w.set_upload(s.upload);
    w.set_weight(s.weight);
    add(s.preload, *w.mutable_preload());
    w.set_store(static_cast<std::uint32_t>(s.store));
    w.set_on_hang(static_cast<std::uint32_t>(s.on_hang));
    w.set_hang_after(s.hang_after.count());
    w.set_step_pattern(s.step_pattern);
    put(program_keys::of(kind::submitted, f.program), w);
  }

  void operator()(of_core::course_fact const& f) const {
    wire::ProgramCourse w;
    w.set_state(static_cast<std::uint32_t>(f.state));
    w.set_goal(static_cast<std::uint32_t>(f.goal));
    w.set_attempts(f.attempts);
    w.set_counted_restarts(f.counted_restarts);
    w.set_quick_ends(f.quick_ends);
    add(f.failures, *w.mutable_failures());
    if (f.cause) encode(*f.cause, *w.mutable_cause());
    w.set_finished(us(f.finished));
    w.set_not_before(us(f.not_before));
    if (f.stop_at) {
      w.mutable_stop_at()->set_attempt(f.stop_at->attempt);
      w.mutable_stop_at()->set_step(f.stop_at->step);
    }
    if (f.hang) encode(*f.hang, *w.mutable_hang());
    put(program_keys::of(kind::course, f.program), w);
  }

  void operator()(of_core::attempt_fact const& f) const {
    wire::ProgramAttempt w;
    w.set_end(static_cast<std::uint32_t>(f.about.end));
    w.set_ranks(f.about.ranks);
    w.set_hosts(f.about.hosts);
    w.set_begun(us(f.about.begun));
    w.set_running_since(us(f.about.running_since));
    w.set_ended(us(f.about.ended));
    if (f.about.cause) encode(*f.about.cause, *w.mutable_cause());
    put(program_keys::of(kind::attempt, f.program, f.about.attempt), w);
  }

  void operator()(of_core::attempt_gone const& f) const {
    for (auto const k : {kind::attempt, kind::record})
      into.push_back({change::kind::erase, program_keys::of(k, f.program, f.attempt), {}});
  }

  void operator()(of_core::placement_fact const& f) const {
    wire::Placement w;
    w.set_attempt(f.attempt);
    for (auto const& p : f.places) {
      auto& to = *w.add_places();
      to.set_job(p.job);
      to.set_index(p.index);
      to.set_incarnation(raw(p.incarnation));
      to.set_host(p.host);
      to.set_address(p.address);
      to.set_first_port(p.first_port);
      to.set_last_port(p.last_port);
      to.set_lease(p.lease.count());
    }
    for (auto const& r : f.ranks) {
      w.add_group(r.group);
      w.add_index(r.index);
      w.add_place(r.place);
      w.add_port(r.port);
    }
    w.set_own_service(f.own_service);
    w.set_meeting_point(f.meeting_point);
    w.set_tunnels(f.tunnels);
    w.set_store(f.store);
    for (auto const& [address, port] : f.ports) {
      auto& to = *w.add_ports();
      to.set_name(address);
      to.set_value(std::to_string(port));
    }
    into.push_back({change::kind::erase_below, program_keys::of(kind::rank, f.program), {}});
    put(program_keys::of(kind::placement, f.program), w);
  }

  void operator()(of_core::rank_fact const& f) const {
    wire::DeadRank w;
    w.set_attempt(f.name.attempt);
    w.set_well(f.well);
    w.set_state(static_cast<std::uint32_t>(f.state));
    w.set_pid(f.pid);
    w.set_started(us(f.started));
    w.set_ended(us(f.ended));
    w.set_exit_status(f.exit_status);
    w.set_signal(f.signal);
    w.set_not_started(f.not_started);
    w.set_out_of_memory(f.out_of_memory);
    put(program_keys::of(kind::rank, f.name.program, f.name.rank), w);
  }

  void operator()(of_core::program_gone const& f) const {
    for (auto const k : program_keys::kinds)
      into.push_back({change::kind::erase_below, program_keys::of(k, f.program), {}});
  }
};

}  // namespace

void encode(std::string const& cluster, std::vector<core::programs::fact> const& facts,
            std::vector<change>& into) {
  for (auto const& f : facts) std::visit(program_encoder{cluster, into}, f);
}

}  // namespace muster::server::journal
