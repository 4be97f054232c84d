// The columns of the worker stream: answers and reports in, assignments out.
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

/// Appends the message's answers to `results`. Empty, or the field and what is wrong with it;
/// then `results` is not to be used.
std::string from_wire(v1::WorkerMessage const& message, core::worker_results& to);

/// The same for answers of earlier streams.
std::string from_wire(v1::Answers const& answers, std::vector<core::worker_result>& to);

/// Hands what running closures report in the message, lines and progress, to the hub, in the name
/// of this stream and task. Empty, or the field and what is wrong with it; then nothing was taken.
std::string take_reports(v1::WorkerMessage const& message, core::stream_id stream,
                         std::shared_ptr<std::string const> const& task, hub& to);

/// Appends one closure to what the stream has to send. `inputs_beside_bytes`: as the worker's
/// hello.
void to_wire(core::assignment const& a, std::uint32_t function_number, bool inputs_beside_bytes,
             proto::outbox<v1::ServerMessage>& out);

}  // namespace muster::server
