// Converts the parallel arrays of the worker stream: answers and reports from workers, and
// assignments to workers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "muster/v1/worker.pb.h"
#include "proto/outbox.hpp"
#include "server/core/api/effects.hpp"
#include "server/hub/hub.hpp"

namespace muster::server {

/// Appends the message's answers to `to`. Returns an empty string, or the field and the problem.
/// After a problem, `to` must not be used.
std::string from_wire(v1::WorkerMessage const& message, core::worker_results& to);

/// Appends answers of earlier streams to `to`. Returns an empty string, or the field and the
/// problem. After a problem, `to` must not be used.
std::string from_wire(v1::Answers const& answers, std::vector<core::worker_result>& to);

/// Passes log lines and progress of running closures to the hub, for this stream and task. Returns
/// an empty string, or the field and the problem. After a problem, nothing has been passed.
std::string take_reports(v1::WorkerMessage const& message, core::stream_id stream,
                         std::shared_ptr<std::string const> const& task, hub& to);

/// Appends a closure to the stream's pending output. `inputs_beside_bytes` is from the worker's
/// hello.
void to_wire(core::assignment const& a, std::uint32_t function_number, bool inputs_beside_bytes,
             proto::outbox<v1::ServerMessage>& out);

}  // namespace muster::server
