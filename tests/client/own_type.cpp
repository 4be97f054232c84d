// Does not compile. A test checks the error messages.
#include "muster/function.hpp"

struct sample {
  int features = 0;
};

int main() {
  muster::make_raw([](sample s) { return s.features; });
}
