// See intercepted_reads.cpp.
#pragma once

namespace muster::net {

/// Makes the linker take the intercepted reads into a program that guards connections.
void intercept_reads();

}  // namespace muster::net
