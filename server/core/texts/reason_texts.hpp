// Texts about reasons of failures and releases.
#pragma once

#include <string>

#include "server/core/api/config.hpp"
#include "server/core/api/ids.hpp"
#include "server/core/api/vocabulary.hpp"

namespace muster::core {

/// Returns a text such as "12 s ago: its session has ended".
std::string when_and_why(release_reason why, duration ago, config const& c);
/// Returns a text such as "the value of cl_… was released 12 s ago: …".
std::string released(closure_id of, release_reason why, duration ago, config const& c);
/// Returns why the other closures of a job are cancelled after an error, such as "cancelled because
/// call cl_… (train_step) failed: ZeroDivisionError: division by zero (on worker:0)". Long messages
/// are shortened.
std::string cancelled_because_of(closure_id of, std::string const& function, failure const& error);
/// Overload for an unknown failed closure, for example after a restart.
std::string cancelled_because_of(session_id job, failure const& error);
/// Returns a text such as "has been lost for 1800 s and is given up (connection lost)".
/// @param lost false if the worker deregistered.
std::string absence(bool lost, duration away, std::string const& error);

}  // namespace muster::core
