// Random requests from /openapi.json. A valid request is never rejected as malformed, and no
// request gets an undocumented status or an internal error. MUSTER_CONTRACT_SEED and
// MUSTER_CONTRACT_CASES change the seed and the number of requests.
#include <cstdlib>

#include "tests/web/contract/generator.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

std::uint64_t from_environment(char const* name, std::uint64_t otherwise) {
  auto const* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

bool is_refusal_of_form(unsigned status) {
  return status == 400 || status == 403 || status == 405 || status == 413 || status == 415 ||
         status == 421 || status == 431;
}

class random_requests : public web_fixture, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  http_response send_drawn(drawn_request const& d) {
    http_request r;
    r.method = d.method;
    r.url = url(d.target);
    r.body = d.body;
    if (!d.content_type.empty()) r.content_type = d.content_type;
    r.headers = d.headers;
    return send(r);
  }
};

TEST_P(random_requests, valid_requests_succeed_and_invalid_ones_fail_as_described) {
  start({}, {}, 3);
  add_worker(worker::habit::echo);
  add_worker(worker::habit::fail);
  auto const seed = from_environment("MUSTER_CONTRACT_SEED", GetParam());
  auto const cases = from_environment("MUSTER_CONTRACT_CASES", 2'000);
  generator g(contract::instance(), seed);
  std::map<unsigned, int> statuses;
  for (std::uint64_t n = 0; n < cases && !HasFailure(); ++n) {
    auto const& drawn = g.draw();
    bool const spoilt = n % 4 == 3;
    auto const d = spoilt ? g.spoil(drawn) : drawn;
    SCOPED_TRACE("MUSTER_CONTRACT_SEED=" + std::to_string(seed) + ", case " + std::to_string(n) +
                 ": " + d.method + " " + d.target + " " + d.body.substr(0, 2'000));
    auto const answer = send_drawn(d);
    ++statuses[answer.status];
    EXPECT_TRUE(spoilt || !is_refusal_of_form(answer.status)) << answer.status << answer.body;
    // A worker can be silent, or lose its connection on a busy host.
    bool const of_a_worker = answer.status == 503 || answer.status == 504;
    EXPECT_TRUE(answer.status < 500 || of_a_worker) << answer.status << answer.body;
    g.learn(answer.body);
  }
  for (auto const& [status, n] : statuses)
    std::cout << "seed " << seed << ": " << n << " answers of " << status << "\n";
}

INSTANTIATE_TEST_SUITE_P(seeds, random_requests, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace muster::web::test
