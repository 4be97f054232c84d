#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace torch_cases {

namespace say = torch::say;

struct rest_torch : web_fixture {
  std::uint64_t id = 0;
  std::string const path = "/api/v1/clusters/train/torch";

  void SetUp() override {
    start();
    post_json("/api/v1/clusters", R"({"name": "train", "torch": 0, "torch_era": "B"})", 201);
    id = core_engine().run([](engine_services& s) {
      return static_cast<std::uint64_t>(*s.coordination.state().find("train"));
    });
  }
  template <class F>
  void at_store(F f) {
    core_engine().run([this, f](engine_services&) { f(core_engine().torch().of(id)); });
  }
};

TEST_F(rest_torch, connected_ranks_and_their_waits_are_shown) {
  at_store([](torch::clients& all) {
    all.now = core::time_point(std::chrono::hours(1'000));
    auto const zero = all.open("10.0.0.1:4000"), two = all.open("10.0.0.3:4002");
    all.send(zero, say::validate() + say::ping(100) + say::set("/default_pg/0//cpu//0/0", "a"));
    all.send(two, say::validate() + say::ping(102) + say::set("/default_pg/0//cpu//0/2", "c") +
                      say::wait({"/default_pg/0//cpu//0/1", "/\xff"}));
  });
  auto const seen = get_json(path);
  EXPECT_EQ(text_at(seen, "/address"), "127.0.0.1:29500");
  EXPECT_EQ(text_at(get_json("/api/v1/clusters/train"), "/torch_address"), "127.0.0.1:29500");
  EXPECT_TRUE(get_json("/api/v1/clusters/train").at("torch_store").as_bool());
  EXPECT_EQ(number_at(seen, "/connections_total"), 2);
  EXPECT_EQ(text_at(seen, "/attempts/0/cause"), "first");
  EXPECT_EQ(number_at(seen, "/attempts/0/keys"), 2);
  EXPECT_EQ(json::serialize(seen.at("missing")), "[1]");
  EXPECT_EQ(number_at(seen, "/ranks/1/pid"), 102);
  EXPECT_EQ(number_at(seen, "/ranks/1/rank"), 2);
  EXPECT_EQ(seen.at("waits").as_array().size(), 2u);
  EXPECT_EQ(text_at(seen, "/waits/0/key"), "/default_pg/0//cpu//0/1");
  EXPECT_EQ(number_at(seen, "/waits/0/rank"), 1);
  EXPECT_EQ(text_at(seen, "/waits/1/key_base64"), "L/8=") << "the key is not valid UTF-8";
  EXPECT_TRUE(get_json(path + "?limit=1").at("more").as_bool());
}

TEST_F(rest_torch, ranks_that_have_not_connected_are_named) {
  at_store([](torch::clients& all) {
    all.tcp_store.begin_attempt(torch::attempt_cause::launched, all.now);
    all.tcp_store.expect(3);
    all.open("10.0.0.1:1", 1);
  });
  auto const seen = get_json(path);
  EXPECT_EQ(text_at(seen, "/attempts/0/cause"), "launched");
  EXPECT_EQ(number_at(seen, "/ranks_expected"), 3);
  EXPECT_EQ(json::serialize(seen.at("missing")), "[0,2]");
  EXPECT_EQ(number_at(seen, "/connections/0/rank"), 1);
}

TEST_F(rest_torch, keys_are_listed_and_an_attempt_can_be_started) {
  at_store([](torch::clients& all) {
    auto const one = all.open();
    all.send(one,
             say::validate() + say::set("/a", "12") + say::set("/b", "3") + say::set("c\xff", ""));
  });
  auto const first = get_json(path + "/keys?prefix=/&limit=1");
  EXPECT_EQ(text_at(first, "/keys/0/key"), "/a");
  EXPECT_EQ(number_at(first, "/keys/0/bytes"), 2);
  auto const next = "&page_token=" + text_at(first, "/next_page_token");
  EXPECT_EQ(text_at(get_json(path + "/keys?prefix=/&limit=1" + next), "/keys/0/key"), "/b");
  EXPECT_EQ(number_at(post_json(path + "/attempts", "", 201), "/number"), 2);
  EXPECT_EQ(get_json(path + "/keys").at("keys").as_array().size(), 0u);
  EXPECT_EQ(get_json(path + "/keys?attempt=1").at("keys").as_array().size(), 3u);
  EXPECT_EQ(text_at(get_json(path + "/keys?attempt=1&prefix=c"), "/keys/0/key_base64"), "Y/8=");
  EXPECT_EQ(get(path + "/keys?attempt=7").status, 404u);
}

TEST_F(rest_torch, store_is_created_and_removed_with_its_cluster) {
  EXPECT_EQ(get("/api/v1/clusters/default/torch").status, 404u) << "the cluster has no store";
  EXPECT_EQ(text_at(get_json("/api/v1/clusters/train"), "/torch_era"), "B");
  auto const refused = post_json("/api/v1/clusters", R"({"name": "more", "torch": 1})", 409);
  EXPECT_EQ(text_at(refused, "/field"), "torch");
  EXPECT_EQ(get("/api/v1/clusters/more").status, 404u) << "the cluster was deleted again";
}

}  // namespace torch_cases
}  // namespace muster::web::test
