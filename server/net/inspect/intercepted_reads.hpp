// Ensures that intercepted_reads.cpp is linked.
#pragma once

namespace muster::net {

/// Forces the linker to include the intercepted functions in a program that guards connections.
void intercept_reads();

}  // namespace muster::net
