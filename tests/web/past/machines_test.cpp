#include "tests/web/past/past_fixture.hpp"
#include "tests/web/rest/program_fixture.hpp"

namespace muster::web::test {
namespace past_machine_cases {

using names = std::vector<std::string>;

TEST_F(history_fixture, machines_of_a_period_have_mean_values) {
  for (int i = 0; i < 20; ++i) {
    past.machine(i * 5s, "worker:1", "h1", static_cast<float>(i));
    past.machine(i * 5s, "worker:2", "h2", -1);
  }
  start(with_history());
  auto const path = "/api/v1/machines?from_ms=" + at(0s) + "&to_ms=" + at(99s);
  auto const all = get_json(path + "&samples=2");
  EXPECT_EQ(texts(all, "machines", "task"), (names{"worker:1", "worker:2"}));
  EXPECT_EQ(text_at(all, "/machines/0/cluster"), "default");
  EXPECT_EQ(number_at(all, "/machines/0/seen_ms"), noon_ms + 95'000);
  EXPECT_FALSE(all.at("machines").at(0).at("fresh").as_bool());
  EXPECT_EQ(number_at(all, "/until_ms"), noon_ms + 99'000);
  auto const& s = all.at("machines").at(0).at("samples");
  EXPECT_EQ(s.at("seconds").as_array().size(), 2u);
  EXPECT_EQ(s.at("cpu").at(0), 4.5) << "of 0 to 9";
  EXPECT_TRUE(all.at_pointer("/machines/1/samples/cpu/0").is_null()) << "not known";
  EXPECT_EQ(texts(get_json(path + "&host=h2"), "machines", "task"), names{"worker:2"});
  EXPECT_EQ(texts(get_json(path + "&task=worker:1&cluster=default"), "machines", "task"),
            names{"worker:1"});
  auto const first = get_json(path + "&limit=1");
  EXPECT_EQ(first.at("machines").at(0).at("samples").at("seconds").as_array().size(), 20u);
  EXPECT_EQ(texts(get_json(path + "&limit=1&page_token=" + text_at(first, "/next_page_token")),
                  "machines", "task"),
            names{"worker:2"});
  EXPECT_EQ(text_at(get_json("/api/v1/machines?from_ms=2&to_ms=1", 422), "/field"), "to_ms");
  get_json(path + "&cluster=none", 404);
}

struct machines_of_a_program : program_fixture {
  written_past past;
  void TearDown() override {
    program_fixture::TearDown();
    past.reader().stop();
  }
};

TEST_F(machines_of_a_program, include_one_entry_per_host) {
  past.machine(1s, "", "host-a", 1);      // the server's own
  past.machine(1s, "ps:0", "host-a", 1);  // first by name; runs no rank
  past.machine(1s, "worker:0", "host-a", 1);
  past.machine(1s, "worker:5", "host-a", 1);
  past.machine(1s, "worker:6", "host-b", 1);
  web_options o;
  o.outlets.past = &past.reader();
  start_with_ranks(o);
  core_engine().run([](server::hub& h) {
    machine m;
    m.host = "host-a";
    for (auto const* task : {"", "ps:0", "worker:0", "worker:7"})
      h.machines().report(task, m, h.now());
    m.host = "host-b";
    h.machines().report("worker:8", m, h.now());
  });
  auto const program = "program=" + path.substr(path.rfind('/') + 1);
  EXPECT_EQ(history_fixture::texts(get_json("/api/v1/machines?" + program), "machines", "task"),
            names{"worker:0"});
  auto const then = "&from_ms=" + at(0s) + "&to_ms=" + at(9s);
  EXPECT_EQ(
      history_fixture::texts(get_json("/api/v1/machines?" + program + then), "machines", "task"),
      names{"worker:0"});
  get_json("/api/v1/machines?program=prog_zz", 404);
  get_json("/api/v1/machines?program=prog_zz" + then, 404);
}

}  // namespace past_machine_cases
}  // namespace muster::web::test
