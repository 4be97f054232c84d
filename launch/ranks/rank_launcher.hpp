// The launcher of one attempt of a program on one host. Starts the ranks that a worker orders, and
// reports when they end. Stops ranks on an order, when the worker's lease expires, or when the
// worker or the supervisor exits. main() calls it once, in the child of a supervisor. The server
// handles failures and restarts.
//
// The process exits when all ranks and their processes have ended. After an order with `preload`,
// it keeps its fork server for the next attempt until its input ends or its lease expires.
#pragma once

#include "launch/supervision.hpp"

namespace muster::launch {

constexpr std::uint64_t rank_log_bytes_max = std::uint64_t{64} << 20;

/// Reads orders from standard input (rank_orders.hpp) and writes reports to standard output
/// (report_line.hpp). Returns the exit status: 0, or 2 after an invalid first order, which a line
/// on stderr explains.
/// @throws std::system_error before anything runs
int run_ranks(split_result launcher);

}  // namespace muster::launch
