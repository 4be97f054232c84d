// The launcher of one attempt of a program on one host: it starts those ranks that a worker names,
// passes their ends on, and stops them when it is told to, when the worker's lease runs out, and
// when the worker or the guardian is gone. Made and run by main, once a process, below a guardian,
// as the launcher of `muster run` is; unlike that one it judges nothing and restarts nothing: the
// server does.
//
//   order to start ──► ranks run ──► all have ended, nothing is left of them ──► the process ends
//
// After an order with `preload` the process stays with its fork server, for an order to start the
// next attempt, until the line of orders ends or its lease runs out.
#pragma once

#include "launch/guardian.hpp"

namespace muster::launch {

/// Of what a rank has printed so many bytes stay on the disk.
constexpr std::uint64_t rank_log_bytes_max = std::uint64_t{64} << 20;

/// Orders come from standard input (rank_orders.hpp), reports go to standard output
/// (report_line.hpp). Returns the exit status: 0, or 2 where the first order makes no sense, which
/// one line on stderr explains. Errors: std::system_error before anything runs.
int run_ranks(side launcher);

}  // namespace muster::launch
