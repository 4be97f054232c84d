// Fuzzes the requests of XLA's protocol to the coordination service. See coordination_wire.hpp
// for the input and the checked properties.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/coordination_wire.hpp"

#define coordination_call fuzzed_call
#define methods_of_xla fuzzed_methods
#define row fuzzed_row
#include "server/rpc/coordination/dialect_xla.cpp"
#undef row
#undef methods_of_xla
#undef coordination_call

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace muster::server;
  play_coordination(fuzzed_methods(), dialect::xla, {data, size});
  return 0;
}
