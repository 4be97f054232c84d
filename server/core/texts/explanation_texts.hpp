// Converts explanations into sentences.
#pragma once

#include <string>

#include "server/core/api/explanation.hpp"

namespace muster::core {

/// Returns the full text, such as "QUEUED for 3000 ms: no worker is connected. It was requeued …".
std::string text(explanation const& e);
/// Returns only the cause of the wait, such as "no worker is connected.". Empty if the closure does
/// not wait.
std::string cause(explanation const& e);
/// Returns why no worker can run the closure, without a full stop.
std::string text(worker_shortage const& l);
/// States how to start a worker with the function, without a full stop.
std::string text_of_missing_function(std::string const& function);
/// Returns why a gang waits, without a full stop.
std::string text(gang_wait const& g);
/// Returns at most five versions, such as "python:3.11 and python:3.12".
std::string text_of_versions(std::vector<std::string> const& present);

}  // namespace muster::core
