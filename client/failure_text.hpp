// Failures to and from the wire, and exceptions to failures.
#pragma once

#include <exception>
#include <string>

#include "muster/v1/common.pb.h"
#include "muster/value.hpp"

namespace muster {

/// Fills everything but the position; texts become valid UTF-8 and are cut at 64 KiB.
void to_wire(failure const& from, v1::Failure& to);
failure from_wire(v1::Failure const& from);

/// How a closure fails whose function threw `e`. REQUIRES: called in a catch block.
failure failure_of_current_exception();

}  // namespace muster
