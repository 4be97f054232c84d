// Does not compile: a test looks at what the compiler says.
#include "muster/function.hpp"

struct sample {
  int features = 0;
};

int main() {
  muster::make_raw([](sample s) { return s.features; });
}
