#include <random>

#include "muster/gce_resolver.hpp"
#include "tests/cluster/http/kubernetes_fixture.hpp"
#include "tests/cluster/http/tpu_fixture.hpp"

namespace muster::testing {
namespace {

/// Changes a few bytes, depending on the seed.
std::string mutated(std::string text, unsigned seed) {
  std::mt19937 random(seed);
  auto const below = [&](std::size_t n) { return random() % n; };
  constexpr std::string_view spice = "{}[]\",:0-9.eE\\nulltrue\x01\xff ";
  for (auto changes = 1 + below(3); changes > 0 && !text.empty(); --changes) {
    auto const at = below(text.size());
    switch (below(4)) {
      case 0:
        text[at] = spice[below(spice.size())];
        break;
      case 1:
        text.erase(at, 1 + below(8));
        break;
      case 2:
        text.insert(at, text.substr(at, 1 + below(8)));
        break;
      default:
        if (below(4) == 0) text.resize(at);
    }
  }
  return text;
}

void expect_cluster_or_error(std::function<void()> const& ask, std::string const& answer) {
  try {
    ask();
  } catch (cluster_error const& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << answer;
  } catch (std::exception const& e) {
    ADD_FAILURE() << e.what() << " for " << answer;
  }
}

constexpr unsigned seeds = 400;

TEST_F(kubernetes, answers_that_were_tampered_with_are_a_cluster_or_an_error) {
  auto const whole = list({{"p-0", "Running", "10.0.0.1"}, {"p-1", "Running", "fd00::1"}});
  std::string answer;
  http_service const server([&](http_seen const&) { return http_reply{200, answer}; });
  auto r = off(server.url());
  for (unsigned seed = 0; seed < seeds; ++seed) {
    answer = mutated(whole, seed);
    expect_cluster_or_error([&] { r.num_accelerators(); }, answer);
  }
}

TEST_F(tpu, answers_that_were_tampered_with_are_a_cluster_or_an_error) {
  auto const whole =
      ready(endpoints({"10.0.0.1", "10.0.0.2"}) +
            R"(,"acceleratorType":"v3-16","acceleratorConfig":{"type":"V4","topology":"2x2x2"},)"
            R"("symptoms":[{"symptomType":"OUT_OF_MEMORY","createTime":"2026-11-21T10:00:00Z"}])");
  auto r = resolver();
  for (unsigned seed = 0; seed < seeds; ++seed) {
    auto const answer = mutated(whole, seed);
    node("n", answer);
    expect_cluster_or_error([&] { r.master(); }, answer);
    expect_cluster_or_error([&] { r.num_accelerators(); }, answer);
    expect_cluster_or_error([&] { r.tpu().recoverable(); }, answer);
  }
}

TEST_F(google, answers_that_were_tampered_with_are_a_cluster_or_an_error) {
  gce_resolver::options o;
  o.instance_group = "g";
  o.project = "p";
  o.zone = "z";
  o.api_url = url();
  o.time = time_.source();
  gce_resolver r(machine(), o);
  std::string const token = R"({"access_token":"t","expires_in":3600})";
  std::string const rows =
      R"({"items":[{"instance":"https://x/projects/p/zones/z/instances/m","status":"RUNNING"}]})";
  std::string const instance = R"({"networkInterfaces":[{"networkIP":"10.0.0.5"}]})";
  for (unsigned seed = 0; seed < seeds; ++seed) {
    auto const answer = mutated(token, seed) + mutated(rows, seed) + mutated(instance, seed);
    says("instance/service-accounts/default/token", seed % 3 == 0 ? mutated(token, seed) : token);
    reply("/projects/p/zones/z/instanceGroups/g/listInstances?orderBy=name&maxResults=500",
          {200, seed % 3 == 1 ? mutated(rows, seed) : rows});
    reply("/projects/p/zones/z/instances/m",
          {200, seed % 3 == 2 ? mutated(instance, seed) : instance});
    expect_cluster_or_error([&] { r.cluster_spec(); }, answer);
  }
}

}  // namespace
}  // namespace muster::testing
