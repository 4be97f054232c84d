#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace start_cases {

using testing::Test;

/// Expects exit status 2 and one line on stderr that contains `part`.
void expect_refused(finished const& f, std::string const& part) {
  EXPECT_EQ(f.status, 2) << f.err;
  EXPECT_EQ(count(f.err, "\n"), 1u) << f.err;
  EXPECT_CONTAINS(f.err, part);
}

TEST(start, ready_file_names_both_addresses) {
  cluster c;
  c.serve();
  EXPECT_TRUE(c.grpc().starts_with("127.0.0.1:")) << c.grpc();
  EXPECT_TRUE(c.http().starts_with("127.0.0.1:")) << c.http();
  EXPECT_NE(c.grpc(), c.http());
  EXPECT_EQ(c.status_of("/readyz"), 200u);
  EXPECT_EQ(c.status_of("/livez"), 200u);
  std::size_t files = 0;
  for (auto const& entry : std::filesystem::directory_iterator(c.file("")))
    files += entry.path().filename().string().starts_with("ready.json");
  EXPECT_EQ(files, 1u) << "a partly written ready file remains";
}

TEST(start, log_reports_memory_mode_and_the_addresses) {
  cluster c;
  auto& server = c.serve();
  EXPECT_TRUE(server.says("ready "));
  EXPECT_TRUE(server.says("in memory"));
  EXPECT_TRUE(server.says(c.http()));
  EXPECT_TRUE(server.says(c.grpc()));
}

TEST(start, log_lines_can_be_json) {
  cluster c;
  auto& server = c.serve({"--log-format", "json"});
  EXPECT_TRUE(server.says("ready "));
  auto const text = server.errors();
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    boost::system::error_code ec;
    auto const line = boost::json::parse(text.substr(at, end - at), ec);
    ASSERT_FALSE(ec) << text.substr(at, end - at);
    EXPECT_TRUE(line.at("message").is_string());
  }
}

TEST(start, http_port_in_use_is_one_line) {
  cluster a, b;
  a.serve();
  expect_refused(b.run({"serve", "--grpc", "127.0.0.1:0", "--http", a.http()}), a.http());
}

TEST(start, grpc_port_in_use_is_one_line) {
  cluster a, b;
  a.serve();
  expect_refused(b.run({"serve", "--http", "127.0.0.1:0", "--grpc", a.grpc()}), a.grpc());
}

TEST(start, bad_addresses_are_refused) {
  cluster c;
  expect_refused(c.run({"serve", "--grpc", "nonsense"}), "nonsense");
  expect_refused(c.run({"serve", "--http", "127.0.0.1:99999"}), "99999");
  expect_refused(c.run({"serve", "--http", "example.invalid:80"}), "example.invalid");
  expect_refused(c.run({"serve", "--grpc", "127.0.0.1:7", "--http", "127.0.0.1:7"}), "different");
  expect_refused(c.run({"serve", "--http", "192.0.2.1:0", "--insecure"}), "192.0.2.1");
}

TEST(start, invalid_arguments_are_refused_in_one_line) {
  cluster c;
  expect_refused(c.run({"serve", "--no-such-flag"}), "--no-such-flag");
  expect_refused(c.run({"no-such-verb"}), "no-such-verb");
  expect_refused(c.run({"serve", "--heartbeat-timeout", "soon"}), "soon");
  expect_refused(c.run({"serve", "--log-level", "loud"}), "loud");
  expect_refused(c.run({"serve", "--queue-capacity", "many"}), "many");
}

TEST(start, invalid_configuration_file_is_refused) {
  cluster c;
  expect_refused(c.run({"serve", "--config", c.file("absent.toml")}), "absent.toml");
  auto const unknown = c.write("unknown.toml", "[serve]\ngrcp = \"127.0.0.1:0\"\n");
  expect_refused(c.run({"serve", "--config", unknown}), "grcp");
  auto const section = c.write("section.toml", "[server]\ngrpc = \"127.0.0.1:0\"\n");
  expect_refused(c.run({"serve", "--config", section}), "[server]");
  auto const bad = c.write("bad.toml", "[serve]\nheartbeat-timeout = \"soon\"\n");
  expect_refused(c.run({"serve", "--config", bad}), "soon");
}

TEST(start, ready_file_that_cannot_be_written_is_refused) {
  cluster c;
  auto const f = c.run({"serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--log-level",
                        "off", "--ready-file", c.file("no/such/folder/ready.json")});
  expect_refused(f, "ready.json");
}

TEST(start, public_address_requires_tokens_or_insecure) {
  cluster c;
  expect_refused(c.run({"serve", "--grpc", "0.0.0.0:0"}), "--data-dir");
  expect_refused(c.run({"serve", "--http", ":0"}), "--token-file");
  expect_refused(c.run({"serve", "--http", "[::]:0"}), "--insecure");
  expect_refused(c.run({"serve", "--http", ":0", "--auth", "off"}), "--auth is off");
  expect_refused(c.run({"serve", "--auth", "on"}), "--data-dir");
  c.serve({"--insecure"});
}

TEST(start, flag_overrides_environment_overrides_file_overrides_default) {
  cluster c;
  auto const file = c.write("muster.toml",
                            "heartbeat-timeout = \"4s\"\n[serve]\nlog-level = \"warn\"\n"
                            "queue-capacity = 7\n");
  words const base{"serve", "--print-config", "--config", file};
  auto const from_file = c.run(base);
  EXPECT_EQ(from_file.status, 0) << from_file.err;
  EXPECT_CONTAINS(from_file.out, "heartbeat-timeout = \"4s\"  # " + file.string());
  EXPECT_CONTAINS(from_file.out, "log-level = \"warn\"");
  EXPECT_CONTAINS(from_file.out, "queue-capacity = 7");
  EXPECT_CONTAINS(from_file.out, "http = \"127.0.0.1:8477\"  # default");

  auto const from_environment = c.run(base, {}, {{"MUSTER_HEARTBEAT_TIMEOUT", "5s"}});
  EXPECT_CONTAINS(from_environment.out, "heartbeat-timeout = \"5s\"  # MUSTER_HEARTBEAT_TIMEOUT");

  auto with_flag = base;
  with_flag.insert(with_flag.end(), {"--heartbeat-timeout", "6s"});
  auto const from_flag = c.run(with_flag, {}, {{"MUSTER_HEARTBEAT_TIMEOUT", "5s"}});
  EXPECT_CONTAINS(from_flag.out, "heartbeat-timeout = \"6s\"  # flag");

  auto const by_variable = c.run({"serve", "--print-config"}, {}, {{"MUSTER_CONFIG", file}});
  EXPECT_CONTAINS(by_variable.out, "queue-capacity = 7");
}

TEST(start, variables_apply_to_all_commands_or_to_one) {
  cluster c;
  auto const own = c.run({"serve", "--print-config"}, {},
                         {{"MUSTER_SERVE_STOP_TIMEOUT", "7s"}, {"MUSTER_STOP_TIMEOUT", "5s"}});
  EXPECT_CONTAINS(own.out, "stop-timeout = \"7s\"  # MUSTER_SERVE_STOP_TIMEOUT");
  auto const declared =
      c.run({"serve", "--print-config"}, {}, {{"MUSTER_CLUSTER", "train:worker=4"}});
  EXPECT_CONTAINS(declared.out, "# MUSTER_CLUSTER");
  auto const name = c.run({"serve", "--print-config"}, {}, {{"MUSTER_CLUSTER", "train"}});
  EXPECT_EQ(name.status, 0) << name.err;
  EXPECT_EQ(name.out.find("# MUSTER_CLUSTER"), std::string::npos) << name.out;
  c.serve();
  EXPECT_EQ(c.run({"tasks"}, {}, {{"MUSTER_CLUSTER", "train:worker=4"}}).status, 0);
  EXPECT_EQ(c.run({"tasks"}, {}, {{"MUSTER_CLUSTER", "train"}}).status, 1);
  words const resolve{"resolve", "simple:{\"worker\":[\"a:1\"]}"};
  EXPECT_EQ(c.run(resolve, {}, {{"MUSTER_TASK", "worker:3"}}).out, "{\"worker\":[\"a:1\"]}\n");
  EXPECT_CONTAINS(c.run(resolve, {}, {{"MUSTER_TASK", "true"}}).out, "\"task\":");
}

TEST(start, benchmarks_have_their_own_variables_and_section) {
  cluster c;
  auto const wrong = c.run({"bench", "kv"}, {}, {{"MUSTER_BENCH_SECONDS", "soon"}});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_CONTAINS(wrong.err, "MUSTER_BENCH_SECONDS");
  auto const file = c.write("muster.toml", "[bench]\nseconds = \"soon\"\n");
  for (auto const& by_file : {c.run({"bench", "--config", file, "kv"}),
                              c.run({"bench", "kv"}, {}, {{"MUSTER_CONFIG", file}})}) {
    EXPECT_EQ(by_file.status, 2);
    EXPECT_CONTAINS(by_file.err, file.string());
  }
  EXPECT_NE(c.run({"bench", "memory", "--workers", "2"}).status, 0) << "nothing looks at it";
}

TEST(start, printed_configuration_can_be_read_back) {
  cluster c;
  auto const first = c.run({"serve", "--print-config", "--insecure", "--stop-timeout", "3s"});
  ASSERT_EQ(first.status, 0) << first.err;
  auto const file = c.write("muster.toml", first.out);
  auto const second = c.run({"serve", "--print-config", "--config", file});
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_CONTAINS(second.out, "stop-timeout = \"3s\"");
  EXPECT_CONTAINS(second.out, "insecure = true");
}

// Finds all choices in the help: words with bars between them.
TEST(start, printed_settings_are_read_back_unchanged) {
  cluster c;
  std::size_t choices = 0;
  for (auto const& line : lines(c.run({"serve", "--help-all"}).out)) {
    auto words = std::istringstream(line);
    std::string flag, type;
    words >> flag >> type;
    if (!flag.starts_with("--") || type.find('|') == type.npos) continue;
    auto names = std::istringstream(type.substr(0, type.find('=')));
    for (std::string name; std::getline(names, name, '|'); ++choices) {
      auto const first = c.run({"serve", "--print-config", flag, name});
      ASSERT_EQ(first.status, 0) << first.err;
      auto const setting = flag.substr(2) + " = \"" + name + "\"  # ";
      EXPECT_CONTAINS(first.out, setting + "flag");
      auto const file = c.write("muster.toml", first.out);
      auto const second = c.run({"serve", "--print-config", "--config", file});
      ASSERT_EQ(second.status, 0) << second.err;
      EXPECT_CONTAINS(second.out, setting + file.string() + ":");
    }
  }
  EXPECT_GE(choices, 11u) << "--auth, --log-level, --log-format";
}

TEST(start, error_in_a_configuration_file_names_the_line) {
  cluster c;
  for (auto const& [text, said] :
       {std::pair("[serve]\n\nhtp = \"127.0.0.1:0\"\n",
                  ":3: unknown setting 'htp' in [serve]; did you mean http?"),
        std::pair("# first\n[serv]\nhttp = 1\n", ":3: unknown section [serv]; did you mean serve?"),
        std::pair("[serve]\nauth = maybe\n", ":2: --auth: 'maybe' is not one of auto, on, off"),
        std::pair("[serve]\nhttp = [\"a:1\", \"b:1\"]\n", ":2: http accepts only one value"),
        std::pair("[serve]\nhttp \"127.0.0.1:0\"\n", ":2: 'http \"127.0.0.1:0\"': write ")}) {
    auto const file = c.write("muster.toml", text);
    expect_refused(c.run({"serve", "--config", file}), file.string() + said);
  }
}

TEST(start, invalid_environment_variable_is_named) {
  cluster c;
  expect_refused(c.run({"serve"}, {}, {{"MUSTER_STOP_TIMEOUT", "soon"}}), "MUSTER_STOP_TIMEOUT");
}

}  // namespace start_cases
}  // namespace muster::e2e
