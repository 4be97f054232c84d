// Renders explanations as sentences. Pure functions, called by the REST and gRPC layers to answer
// requests.
#pragma once

#include <string>

#include "server/core/api/explanation.hpp"

namespace muster::core {

/// Returns the full text: "QUEUED for 3000 ms: no worker is connected. It was requeued …".
std::string text(explanation const& e);
/// Returns only the cause of waiting, such as "no worker is connected."; empty if the closure does
/// not wait.
std::string cause(explanation const& e);
/// Returns why no worker can run the closure, without a full stop.
std::string text(worker_shortage const& l);
/// Returns that no connected worker provides the function, and how to start one, without a full
/// stop.
std::string text_of_missing_function(std::string const& function);
/// Returns what a gang waits for, without a full stop.
std::string text(gang_wait const& g);
/// Returns "python:3.11 and python:3.12"; at most five versions.
std::string text_of_versions(std::vector<std::string> const& present);

}  // namespace muster::core
