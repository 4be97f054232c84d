// Which of this machine's addresses others see. May be called from any thread.
#pragma once

#include <string>

namespace muster::cluster {

/// The address from which packets to `address` ("10.0.0.1:8470") would leave; none are sent.
/// unreachable: no network leads there, or its name is not known.
std::string local_address_towards(std::string const& address);

}  // namespace muster::cluster
