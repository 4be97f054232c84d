// Field descriptions of jobs, sessions and closures; see described.hpp. Journal entries use the
// same field numbers.
#pragma once

#include <utility>

#include "server/core/api/described.hpp"
#include "server/core/api/facts.hpp"

namespace muster::core {

constexpr auto fields_of(std::type_identity<failure>) {
  using t = failure;
  return fields(field(1, "kind", &t::kind), field(2, "type", &t::type).as_bytes(),
                field(3, "message", &t::message).as_bytes(),
                field(4, "traceback", &t::traceback).as_bytes(), field(5, "worker", &t::worker),
                field(6, "attempt", &t::attempt),
                field(7, "dependencies", &t::dependencies).as_bytes().show(shown::if_set),
                field(8, "exception", &t::exception).as_bytes().show(shown::never));
}

constexpr auto fields_of(std::type_identity<closure_options>) {
  using t = closure_options;
  return fields(field(1, "priority", &t::priority).between(-1'000'000, 1'000'000),
                field(2, "delay", &t::delay).at_most(most_year),
                field(3, "deadline", &t::deadline).at_most(most_year),
                field(4, "max_retries", &t::max_retries).at_most(10'000),
                field(5, "retry_delay", &t::retry_initial).at_most(most_year),
                field(6, "retry_delay_max", &t::retry_max).at_most(most_year),
                field(7, "gang", &t::gang).at_most(256),
                field(8, "task_job", &t::task_job).show(shown::by_hand),
                field(9, "task_index", &t::task_index).show(shown::by_hand),
                field(10, "labels", &t::labels).at_most(256).with_names(64),
                field(11, "resources", &t::resources).between(1, most_uint32));
}

constexpr auto fields_of(std::type_identity<input_ref>) {
  using t = input_ref;
  return fields(field(1, "closure", &t::closure).as_fixed(), field(2, "offset", &t::offset));
}

constexpr auto fields_of(std::type_identity<closure_extras>) {
  using t = closure_extras;
  return fields(flat(&t::options), field(12, "inputs", &t::inputs),
                field(13, "per_worker", &t::per_worker));
}

constexpr auto fields_of(std::type_identity<callable_name>) {
  using t = callable_name;
  return fields(field(1, "name", &t::name), field(2, "hash", &t::hash).as_bytes());
}

constexpr auto fields_of(std::type_identity<session_spec>) {
  using t = session_spec;
  using enum shown;
  return fields(field(2, "name", &t::name).at_most(256), field(3, "on_error", &t::on_error),
                field(4, "open", &t::open), field(0, "durable", &t::durable),
                field(5, "queue_capacity", &t::queue_capacity),
                field(6, "max_worker_failures", &t::max_worker_failures),
                field(7, "unlimited_worker_failures", &t::unlimited_worker_failures).show(never),
                field(8, "weight", &t::weight).between(1, 1'000),
                field(9, "deadline", &t::deadline).at_most(most_year),
                field(10, "idempotency_key", &t::idempotency_key).at_most(256),
                field(11, "metadata", &t::metadata), field(12, "retry_of", &t::retry_of),
                field(13, "require_function", &t::require_function), field(22, "grace", &t::grace),
                field(23, "detached", &t::detached).show(never),
                field(29, "submitted_by", &t::submitted_by),
                field(32, "num_workers", &t::num_workers),
                field(33, "request_digest", &t::request_digest).as_bytes());
}

constexpr auto fields_of(std::type_identity<job_fact>) {
  using t = job_fact;
  return fields(
      flat(&t::spec), field(14, "state", &t::state), field(15, "sealed", &t::sealed),
      field(16, "stopping", &t::stopping), field(17, "user_cancelled", &t::user_cancelled),
      field(18, "error", &t::first_error), field(19, "created", &t::created),
      field(20, "finished", &t::finished), field(24, "closed", &t::closed),
      field(25, "generation", &t::generation), field(26, "raised", &t::raised),
      field(27, "raised_generation", &t::raised_generation), field(28, "client", &t::client));
}

constexpr auto fields_of(std::type_identity<per_worker_fact>) {
  using t = per_worker_fact;
  return fields(field(1, "name", &t::name), field(2, "function", &t::function),
                field(3, "args", &t::args).as_bytes(), field(5, "token", &t::token).as_fixed(),
                field(6, "released", &t::released), field(7, "created", &t::created),
                field(9, "submitted_by", &t::submitted_by));
}

constexpr auto fields_of(std::type_identity<attempt_outcome>) {
  using t = attempt_outcome;
  return fields(field(7, "outcome", &t::detail).as_bytes(), field(8, "end", &t::how),
                field(9, "again", &t::again).as_fixed());
}

constexpr auto fields_of(std::type_identity<attempt_view>) {
  using t = attempt_view;
  return fields(field(1, "attempt", &t::attempt), field(2, "worker", &t::worker),
                field(3, "incarnation", &t::incarnation).as_fixed(), field(4, "host", &t::host),
                field(5, "started", &t::started), field(6, "ended", &t::ended), flat(&t::outcome));
}

/// An attempt as stored. `blamed` is 0 for usual_blame(), otherwise the `blame` value plus 1.
struct attempt_entry {
  attempt_view of{};
  std::uint32_t blamed = 0;
};

constexpr auto fields_of(std::type_identity<attempt_entry>) {
  using t = attempt_entry;
  return fields(flat(&t::of), field(10, "blamed", &t::blamed));
}

constexpr blame usual_blame(attempt_end how) {
  bool const counts = how == attempt_end::worker_lost || how == attempt_end::stale_handle;
  return counts ? blame::worker : blame::none;
}

inline attempt_entry entry_of(attempt_view const& a) {
  attempt_entry e{a};
  if (a.blamed != usual_blame(a.outcome.how)) e.blamed = static_cast<std::uint32_t>(a.blamed) + 1;
  if (a.outcome.how == attempt_end::earlier) e.of.outcome = {.detail = a.outcome.detail};
  return e;
}
inline bool from_entry(attempt_entry e, attempt_view& to) {
  to = std::move(e.of);
  auto& how = to.outcome.how;
  if (how == attempt_end::running && !to.outcome.detail.empty()) how = attempt_end::earlier;
  auto const said = enumerator_numbered<blame>(e.blamed - std::uint64_t{1});
  to.blamed = said.value_or(usual_blame(how));
  return said || e.blamed == 0;
}

constexpr auto fields_of(std::type_identity<closure_fact>) {
  using t = closure_fact;
  return fields(field(1, "state", &t::state), field(2, "value", &t::value).as_bytes(),
                field(4, "dropped", &t::dropped), field(5, "failure", &t::failure),
                field(6, "attempt", &t::attempt), field(7, "worker_failures", &t::worker_failures),
                field(8, "retries", &t::retries), field(9, "workers_lost", &t::workers_lost),
                field(10, "started", &t::started), field(11, "finished", &t::finished),
                field(12, "lost", &t::lost), field(13, "newest", &t::newest),
                field(14, "released", &t::released),
                field(15, "processes_ended", &t::processes_ended),
                field(16, "exclusive", &t::exclusive));
}

}  // namespace muster::core
