// Field descriptions of programs; see described.hpp. Journal entries use the same field numbers.
#pragma once

#include "server/core/api/described.hpp"
#include "server/core/api/program_facts.hpp"

namespace muster::core {

constexpr auto fields_of(std::type_identity<agreed_stop>) {
  using t = agreed_stop;
  return fields(field(1, "attempt", &t::attempt), field(2, "step", &t::step));
}

constexpr auto fields_of(std::type_identity<coordination_failure>) {
  using t = coordination_failure;
  return fields(field(1, "code", &t::code),
                field(2, "task", &t::task).show(shown::if_set).text("the task that failed"),
                field(3, "message", &t::message).as_bytes());
}

constexpr auto fields_of(std::type_identity<hang>) {
  using t = hang;
  using enum shown;
  return fields(
      field(1, "evidence", &t::evidence), field(2, "rank", &t::rank).show(if_known),
      field(3, "task", &t::task).show(if_set), field(4, "host", &t::host).show(if_set),
      field(5, "line", &t::line).as_bytes().show(if_set).text("the top line of the rank's stack"),
      field(6, "process", &t::process).as_bytes().show(if_set).text("kernel state of the process"),
      field(7, "barrier", &t::barrier)
          .as_bytes()
          .show(if_set)
          .text("the barrier at which the other ranks are waiting"),
      field(8, "waits", &t::waits).text("number of ranks that are waiting"),
      field(9, "waiting", &t::waiting).show(if_set).text("the first waiting rank"),
      field(10, "waiting_line", &t::waiting_line)
          .as_bytes()
          .show(if_set)
          .text("the code line at which most of the waiting ranks are"),
      field(11, "since", &t::since).text("start of the period in which no rank has made progress"),
      field(12, "found", &t::found));
}

constexpr auto fields_of(std::type_identity<program_cause>) {
  using t = program_cause;
  using enum shown;
  return fields(field(1, "kind", &t::kind), field(2, "rank", &t::rank).show(if_known),
                field(3, "task", &t::task).show(if_set), field(4, "host", &t::host).show(if_set),
                field(5, "exit_status", &t::exit_status).show(if_set),
                field(6, "signal", &t::signal).show(if_set), field(7, "text", &t::text).as_bytes(),
                field(8, "stderr", &t::stderr_lines)
                    .as_bytes()
                    .show(if_set)
                    .text("the last lines on standard error"),
                field(9, "coordination", &t::coordination)
                    .show(if_set)
                    .text("the earlier failure that the coordination service reported"),
                field(55, "hang", &t::hang).show(by_hand));
}

constexpr auto fields_of(std::type_identity<program_tasks>) {
  using t = program_tasks;
  using enum shown;
  return fields(field(1, "type", &t::type).show(never),
                field(2, "min", &t::min).between(1, most_uint32),
                field(3, "max", &t::max).between(1, most_uint32),
                field(4, "command", &t::command).as_bytes().at_most(131'072).show(if_set),
                field(5, "resources", &t::resources).between(1, most_uint32).show(if_set),
                field(6, "labels", &t::labels).as_bytes().at_most(256).show(if_set));
}

constexpr auto fields_of(std::type_identity<program_spec>) {
  using t = program_spec;
  using enum shown;
  return fields(
      field(2, "name", &t::name).at_most(256).show(in_input),
      field(3, "command", &t::command).as_bytes().at_most(131'072),
      field(4, "tasks", &t::tasks).show(by_hand),
      field(5, "per_worker", &t::per_worker).between(1, most_uint32).show(if_set),
      field(6, "env", &t::env).as_bytes().at_most(131'072).show(by_hand),
      field(7, "working_dir", &t::working_dir).as_bytes().at_most(4'096).show(if_set),
      field(20, "upload", &t::upload).at_most(64).show(if_set).text("the SHA-256 of a blob"),
      field(22, "preload", &t::preload).at_most(131'072).show(if_set).text("Python modules"),
      field(23, "store", &t::store), field(8, "max_restarts", &t::max_restarts).at_most(1'000'000),
      field(9, "grace", &t::grace).at_most(most_hour),
      field(10, "restart_grace", &t::restart_grace).at_most(most_hour),
      field(11, "deadline", &t::deadline).at_most(most_year).show(if_set),
      field(18, "notice", &t::notice).at_most(most_year).show(if_set),
      field(55, "on_hang", &t::on_hang), field(56, "hang_after", &t::hang_after).at_most(most_year),
      field(57, "step_pattern", &t::step_pattern)
          .at_most(256)
          .show(if_set)
          .text("pattern that extracts step numbers from the output of ranks"),
      field(19, "spares", &t::spares).at_most(most_uint32).show(if_set),
      field(12, "priority", &t::priority).between(-1'000'000, 1'000'000).show(if_set),
      field(21, "weight", &t::weight).between(1, 1'000).show(unless_default),
      field(13, "ends_with", &t::ends_with).at_most(131'072).show(if_set),
      field(14, "idempotency_key", &t::idempotency_key).at_most(256).show(in_input),
      field(24, "request_digest", &t::request_digest).as_bytes().show(never),
      field(15, "metadata", &t::metadata).as_bytes().at_most(16'384).show(by_hand),
      field(16, "submitted_by", &t::submitted_by).show(if_set));
}

constexpr auto fields_of(std::type_identity<program_attempt_view>) {
  using t = program_attempt_view;
  return fields(field(1, "end", &t::end), field(2, "ranks", &t::ranks),
                field(3, "hosts", &t::hosts), field(4, "begun", &t::begun),
                field(5, "running_since", &t::running_since), field(6, "ended", &t::ended),
                field(7, "cause", &t::cause));
}

constexpr auto fields_of(std::type_identity<rank_name>) {
  return fields(field(1, "attempt", &rank_name::attempt));
}

namespace programs {

constexpr auto fields_of(std::type_identity<course_fact>) {
  using t = course_fact;
  return fields(
      field(1, "state", &t::state), field(2, "goal", &t::goal), field(3, "attempts", &t::attempts),
      field(4, "counted_restarts", &t::counted_restarts), field(5, "quick_ends", &t::quick_ends),
      field(6, "failures", &t::failures), field(7, "cause", &t::cause),
      field(8, "finished", &t::finished), field(9, "not_before", &t::not_before),
      field(10, "stop_at", &t::stop_at), field(11, "hang", &t::hang));
}

constexpr auto fields_of(std::type_identity<placement_fact::place>) {
  using t = placement_fact::place;
  return fields(field(1, "job", &t::job), field(2, "index", &t::index),
                field(3, "incarnation", &t::incarnation).as_fixed(), field(4, "host", &t::host),
                field(5, "address", &t::address), field(6, "first_port", &t::first_port),
                field(7, "last_port", &t::last_port), field(8, "lease", &t::lease));
}

constexpr auto fields_of(std::type_identity<placement_fact::seat>) {
  using t = placement_fact::seat;
  return fields(field(3, "group", &t::group), field(4, "index", &t::index),
                field(5, "place", &t::place), field(6, "port", &t::port));
}

}  // namespace programs

template <>
inline constexpr bool in_columns<programs::placement_fact::seat> = true;

namespace programs {

constexpr auto fields_of(std::type_identity<placement_fact>) {
  using t = placement_fact;
  return fields(field(1, "attempt", &t::attempt), field(2, "places", &t::places),
                field(3, "group", &t::ranks), field(7, "own_service", &t::own_service),
                field(8, "meeting_point", &t::meeting_point),
                field(9, "ports", &t::ports).as_bytes(), field(10, "tunnels", &t::tunnels),
                field(11, "store", &t::store));
}

constexpr auto fields_of(std::type_identity<rank_fact>) {
  using t = rank_fact;
  return fields(flat(&t::name), field(2, "well", &t::well), field(3, "state", &t::state),
                field(4, "pid", &t::pid), field(5, "started", &t::started),
                field(6, "ended", &t::ended), field(7, "exit_status", &t::exit_status),
                field(8, "signal", &t::signal), field(9, "not_started", &t::not_started).as_bytes(),
                field(10, "out_of_memory", &t::out_of_memory));
}

}  // namespace programs
}  // namespace muster::core
