// Fuzzes the requests of TensorFlow's protocol to the coordination service. See
// coordination_wire.hpp for the input and the checked properties.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/coordination_wire.hpp"

#define coordination_call fuzzed_call
#define methods_of_tensorflow fuzzed_methods
#define row fuzzed_row
#include "server/rpc/coordination/dialect_tensorflow.cpp"
#undef row
#undef methods_of_tensorflow
#undef coordination_call

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace muster::server;
  play_coordination(fuzzed_methods(), dialect::tensorflow, {data, size});
  return 0;
}
