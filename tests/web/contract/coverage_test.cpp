// That the description can be read, and that the tests of this program see all of it: the latter is
// asked of a run of all of them in one process (MUSTER_CONTRACT_COVERAGE), since each sees a part.
#include <algorithm>
#include <cstdlib>

#include "tests/web/contract/contract.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

struct exception {
  std::string_view what, why;
};

/// What no test here sees.
constexpr exception exceptions[] = {
    {"any 408", "http.a_body_that_stops_is_cut_off reads it from a socket"},
};

class coverage : public ::testing::Environment {
  void TearDown() override {
    if (!std::getenv("MUSTER_CONTRACT_COVERAGE")) return;
    for (auto const& what : contract::instance().unseen())
      if (std::ranges::find(exceptions, what, &exception::what) == std::end(exceptions))
        ADD_FAILURE() << what << " is described, and no test has seen it";
  }
};

[[maybe_unused]] auto* const covered = ::testing::AddGlobalTestEnvironment(new coverage);

}  // namespace
}  // namespace muster::web::test
