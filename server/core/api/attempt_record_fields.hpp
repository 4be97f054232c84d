// Field descriptions of attempt records; see described.hpp.
#pragma once

#include "server/core/api/attempt_record.hpp"
#include "server/core/api/described.hpp"

namespace muster::core {

constexpr auto fields_of(std::type_identity<attempt_record::event>) {
  using t = attempt_record::event;
  return fields(field(1, "at", &t::at), field(2, "kind", &t::kind),
                field(3, "about", &t::about).as_bytes(), field(4, "text", &t::text).as_bytes());
}

constexpr auto fields_of(std::type_identity<attempt_record::meeting::arrival>) {
  using t = attempt_record::meeting::arrival;
  return fields(field(9, "ranks", &t::rank), field(10, "came", &t::after_us));
}
template <>
inline constexpr bool in_columns<attempt_record::meeting::arrival> = true;

constexpr auto fields_of(std::type_identity<attempt_record::meeting>) {
  using t = attempt_record::meeting;
  return fields(field(1, "barrier", &t::barrier).as_bytes(), field(2, "counter", &t::counter),
                field(3, "ended", &t::ended), field(4, "participants", &t::participants),
                field(5, "last", &t::last), field(6, "host", &t::host), field(7, "late", &t::late),
                field(8, "spread", &t::spread), field(9, "ranks", &t::came));
}

constexpr auto fields_of(std::type_identity<attempt_record::late_task>) {
  using t = attempt_record::late_task;
  return fields(field(1, "task", &t::task), field(2, "host", &t::host), field(3, "last", &t::last),
                field(4, "barriers", &t::barriers), field(5, "late_mean", &t::late_mean),
                field(6, "late_max", &t::late_max));
}

constexpr auto fields_of(std::type_identity<attempt_record::stack>) {
  using t = attempt_record::stack;
  return fields(field(1, "state", &t::state), field(2, "text", &t::text).as_bytes(),
                field(3, "process", &t::process).as_bytes(), field(4, "ranks", &t::ranks));
}

constexpr auto fields_of(std::type_identity<attempt_record::ended_rank>) {
  using t = attempt_record::ended_rank;
  using enum shown;
  return fields(field(1, "rank", &t::rank), field(2, "task", &t::task), field(3, "host", &t::host),
                field(13, "started", &t::started).show(if_set), field(4, "ended", &t::ended),
                field(5, "exit_status", &t::exit_status),
                field(6, "signal", &t::signal).show(if_set),
                field(7, "not_started", &t::not_started).as_bytes().show(if_set),
                field(8, "stopped", &t::stopped)
                    .show(if_set)
                    .text("a signal was sent to the rank before it ended"),
                field(9, "lease_ran_out", &t::lease_ran_out).show(if_set),
                field(10, "out_of_memory", &t::out_of_memory).show(if_set),
                field(11, "stderr", &t::stderr_lines)
                    .as_bytes()
                    .show(if_set)
                    .text("the last lines on standard error"),
                field(12, "stdout", &t::stdout_lines)
                    .as_bytes()
                    .show(if_set)
                    .text("the last lines on standard output"));
}

constexpr auto fields_of(std::type_identity<attempt_record>) {
  using t = attempt_record;
  return fields(field(1, "events", &t::events), field(2, "barriers", &t::barriers),
                field(3, "latecomers", &t::latecomers), field(4, "stacks", &t::stacks),
                field(5, "ranks", &t::ranks), field(6, "events_left_out", &t::events_left_out),
                field(7, "stacks_left_out", &t::stacks_left_out),
                field(8, "ranks_left_out", &t::ranks_left_out));
}

}  // namespace muster::core
