// The sentences of an explanation. Pure; the shells call them at the moment they answer.
#pragma once

#include <string>

#include "server/core/api/explanation.hpp"

namespace muster::core {

/// All of it: "QUEUED for 3000 ms: no worker is connected. It was requeued …".
std::string text(explanation const& e);
/// What a waiting closure waits for, without its state, for how long, and what was before:
/// "no worker is connected." Empty when it does not wait.
std::string cause(explanation const& e);
/// Why no worker can have it, without a full stop.
std::string text(worker_lack const& l);
/// Says that no connected worker provides the function, and how to change that. Without a full
/// stop.
std::string text_of_missing_function(std::string const& function);
/// What a gang waits for, without a full stop.
std::string text(gang_wait const& g);
/// "python:3.11 and python:3.12": the first five.
std::string text_of_versions(std::vector<std::string> const& present);

}  // namespace muster::core
