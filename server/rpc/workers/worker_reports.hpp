// The columns of the worker stream in which running closures report: lines and progress.
#pragma once

#include <memory>
#include <string>

#include "muster/v1/worker.pb.h"
#include "server/hub/hub.hpp"

namespace muster::server {

/// Hands what the message reports to the hub, in the name of this stream and task. Empty, or the
/// field and what is wrong with it; then nothing was taken.
std::string take_reports(v1::WorkerMessage const& message, core::stream_id stream,
                         std::shared_ptr<std::string const> const& task, hub& to);

}  // namespace muster::server
