#include <random>

#include "muster/make_resolver.hpp"
#include "muster/slurm_resolver.hpp"
#include "muster/tf_config.hpp"
#include "tests/cluster/fixture.hpp"

namespace muster {
namespace {

/// A few bytes are changed, removed or doubled.
class mutations {
 public:
  explicit mutations(std::string text) : text_(std::move(text)) {}

  std::string next() {
    auto text = text_;
    for (auto n = 1 + random_() % 4; n > 0 && !text.empty(); --n) {
      auto const at = random_() % text.size();
      switch (random_() % 4) {
        case 0:
          text[at] = static_cast<char>(random_());
          break;
        case 1:
          text[at] = "{}[]\":,;=+|-x0\\"[random_() % 15];
          break;
        case 2:
          text.erase(at, 1 + random_() % 5);
          break;
        default:
          text.insert(at, text.substr(random_() % text.size(), random_() % 20));
      }
    }
    return text;
  }

 private:
  std::string const text_;
  std::mt19937 random_{20'260'101};
};

int refused(std::string const& text, std::function<void(std::string const&)> const& read) {
  constexpr std::size_t line_bytes_max = 2'000;
  mutations all(text);
  int n = 0;
  for (int i = 0; i < 20'000; ++i) try {
      read(all.next());
    } catch (cluster_error const& e) {
      ++n;
      std::string const line = e.what();
      EXPECT_EQ(line.find('\n'), std::string::npos) << line;
      EXPECT_LT(line.size(), line_bytes_max);
    }
  return n;
}

TEST(mutation, of_tf_config_causes_only_cluster_errors) {
  EXPECT_GT(refused(R"({"cluster": {"worker": ["a:1", "b:1"], "ps": {"0": "c:1", "7": "d:1"}},
                        "task": {"type": "worker", "index": "1"}, "rpc_layer": "grpc"})",
                    [](auto const& text) {
                      tf_config::from(testing::environment({{"TF_CONFIG", text}})).check();
                    }),
            10'000);
}

TEST(mutation, of_host_lists_and_counts_causes_only_cluster_errors) {
  EXPECT_GT(refused("n[1-2,05-07],m5,rack[0-3]n[8-11]-ib",
                    [](auto const& text) { expand_hostlist(text, "LIST", 1'000); }),
            2'000);
  EXPECT_GT(refused("3(x2),2,11(x4)",
                    [](auto const& text) { expand_task_counts(text, "COUNTS", 1'000); }),
            2'000);
}

TEST(mutation, of_resolvers_causes_only_cluster_errors) {
  auto const kinds = local_resolver_kinds();
  EXPECT_GT(refused(R"(simple:{"worker": ["a:1"]};task_id=0;rpc_layer=grpc+tf-config:task_type=ps)",
                    [&](auto const& text) {
                      kinds.make(text, testing::environment({}))->cluster_spec();
                    }),
            5'000);
}

}  // namespace
}  // namespace muster
