// Why values are released and tasks given up, in words: what failures, answers and log events
// share. Pure.
#pragma once

#include <string>

#include "server/core/api/config.hpp"
#include "server/core/api/ids.hpp"
#include "server/core/api/vocabulary.hpp"

namespace muster::core {

/// "12 s ago: its session has ended".
std::string when_and_why(release_reason why, duration ago, config const& c);
/// "the value of cl_… was released 12 s ago: …".
std::string released(closure_id of, release_reason why, duration ago, config const& c);
/// "has been lost for 1800 s and is given up (connection lost)". `lost`: else it said good-bye.
std::string absence(bool lost, duration away, std::string const& error);

}  // namespace muster::core
