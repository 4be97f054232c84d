#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <sstream>

#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "cli/rest.hpp"
#include "cli/tree/help_formatter.hpp"
#include "cli/words/config_file.hpp"
#include "cli/words/field_flags.hpp"
#include "cli/words/id_kinds.hpp"
#include "cli/words/values.hpp"
#include "tests/support/http_service.hpp"
#include "tests/support/text.hpp"

namespace muster::cli {
namespace {

std::string complaint(CLI::Validator const& v, std::string text) {
  return v(text);
}

TEST(values, invalid_numbers_are_refused_with_their_range) {
  EXPECT_EQ(complaint(whole_number(1, 1000), "1000"), "");
  for (auto const* wrong : {"0", "1001", "x", "x/0", "1.5", "-1", "", "1 ", "99999999999999999999"})
    EXPECT_EQ(complaint(whole_number(1, 1000), wrong),
              "'" + std::string(wrong) + "': must be a whole number from 1 to 1000");
  EXPECT_EQ(complaint(number_that_fits<std::uint64_t>(1), "0"),
            "'0': must be a whole number, at least 1");
  EXPECT_EQ(complaint(number_that_fits<std::uint64_t>(0), "18446744073709551615"), "");
  EXPECT_EQ(complaint(number_that_fits<std::int64_t>(INT64_MIN), "-5"), "");
  EXPECT_EQ(complaint(number_that_fits<std::int64_t>(INT64_MIN), "x"),
            "'x': must be a whole number");
  EXPECT_EQ(complaint(number_that_fits<std::optional<std::uint8_t>>(0), "256"),
            "'256': must be a whole number from 0 to 255");
}

TEST(values, sizes_are_bytes_with_units) {
  for (auto const& [text, bytes] :
       {std::pair("500000", "500000"), std::pair("64KiB", "65536"), std::pair("10mb", "10485760"),
        std::pair("2GiB", "2147483648")}) {
    std::string read = text;
    EXPECT_EQ(byte_size()(read), "");
    EXPECT_EQ(read, bytes);
  }
  for (auto const* wrong : {"1XB", "x", "", "MiB", "99999999999EiB"})
    EXPECT_EQ(
        complaint(byte_size(), wrong),
        "'" + std::string(wrong) + "' is not a size; write bytes as 500000, 64KiB, 10MB or 2GiB");
}

config_file parsed(std::string const& text) {
  std::istringstream stream(text);
  return parse_config(stream, "muster.toml");
}

TEST(config_files, contain_strings_bare_words_and_lists) {
  auto const f = parsed(
      "# of all verbs\ntop = 1\n; as well\n[serve]  # a comment\n  log-level = warn # words\n"
      "insecure\r\ngrpc=\"[::]:1#2\"\nname = 'a \"b\" \\d'\nother = \"a \\\"b\\\" \\\\d\"\n"
      "list = [\"a,b\", 'c',\n  d ] # end\nplain = \"a\", b\nempty = \"\"\nnone = []\n"
      "\nworker.slots = 3\n");
  auto const texts = [&f](std::string const& section, std::string const& key) {
    auto const* v = f.find(section, key);
    return v ? v->texts : std::vector<std::string>{"not there"};
  };
  using list = std::vector<std::string>;
  EXPECT_EQ(texts("", "top"), list{"1"});
  EXPECT_EQ(texts("serve", "log-level"), list{"warn"});
  EXPECT_EQ(texts("serve", "insecure"), list{"true"});
  EXPECT_EQ(texts("serve", "grpc"), list{"[::]:1#2"});
  EXPECT_EQ(texts("serve", "name"), list{"a \"b\" \\d"});
  EXPECT_EQ(texts("serve", "other"), list{"a \"b\" \\d"});
  EXPECT_EQ(texts("serve", "list"), (list{"a,b", "c", "d"}));
  EXPECT_EQ(texts("serve", "plain"), (list{"a", "b"}));
  EXPECT_EQ(texts("serve", "empty"), list{""});
  EXPECT_EQ(texts("serve", "none"), list{""});
  EXPECT_EQ(texts("worker", "slots"), list{"3"});
  EXPECT_EQ(f.find("serve", "list")->line, 10u);
  EXPECT_EQ(f.at(f.find("worker", "slots")->line), "muster.toml:16");
}

TEST(config_files, can_be_empty_but_must_be_files) {
  EXPECT_TRUE(read_config("/dev/null").settings.empty());
  EXPECT_THROW(read_config("/"), command_error);
  EXPECT_THROW(read_config("/there/is/no/such"), command_error);
}

TEST(config_files, size_limit_is_reported_with_the_path) {
  try {
    (void)read_config("/dev/zero");
    ADD_FAILURE();
  } catch (command_error const& e) {
    EXPECT_EQ(e.status(), exit_usage);
    EXPECT_EQ(std::string(e.what()),
              "cannot read the configuration file /dev/zero: is larger than 1 MiB; correct "
              "--config or omit it");
  }
  EXPECT_THROW(credential({}, "/dev/zero"), command_error);
}

TEST(config_files, errors_name_the_line) {
  for (auto const& [text, said] :
       {std::pair("\n[serve\n", "muster.toml:2: '[' begins a section, but the ']'"),
        std::pair("[serve] x\n", "muster.toml:1: 'x' is not allowed after ']'"),
        std::pair("[a b]\n", "muster.toml:1: '[a b]' is not a section"),
        std::pair("a = 1\ngrpc \"127.0.0.1:1\"\n", "muster.toml:2: 'grpc \"127.0.0.1:1\"': write "),
        std::pair("a =\n", "muster.toml:1: 'a' has no value"),
        std::pair("a = \"x\n", "muster.toml:1: \" begins a string"),
        std::pair("a = 'x\n", "muster.toml:1: ' begins a string"),
        std::pair("a = \"\\d\"\n", "muster.toml:1: '\\d' is not a valid escape sequence in"),
        std::pair("a = [1,\n2\n", "muster.toml:1: '[' begins a list"),
        std::pair("[serve]\na = 1\n\n[ serve ]\n",
                  "muster.toml:4: '[serve]' is repeated; the first one is in line 1"),
        std::pair("insecure = ,\n", "muster.toml:1: ',' is not a value"),
        std::pair("[default]\n[default]\n", "muster.toml:2: '[default]' is repeated"),
        std::pair("a = 1\nb = 2\na = 3\n",
                  "muster.toml:3: 'a' is repeated; the first one is in line 1"),
        std::pair("serve.a = 1\n[serve]\na = 3\n",
                  "muster.toml:3: 'a' is repeated; the first one is in line 1")}) {
    try {
      (void)parsed(text);
      ADD_FAILURE() << text;
    } catch (command_error const& e) {
      EXPECT_EQ(e.status(), exit_usage);
      EXPECT_EQ(std::string(e.what()).rfind(said, 0), 0u) << e.what();
    }
  }
}

TEST(config_files, written_values_are_read_back_unchanged) {
  for (auto const* value : {"", "7", "true", "a b", "{\"a\": 1}", "it's", "it's \"so\" \\d", "#",
                            "two\nlines\tand\r"}) {
    auto const f = parsed("a = " + config_text(value) + "  # flag\n");
    EXPECT_EQ(f.find("", "a")->texts, std::vector<std::string>{value}) << config_text(value);
  }
}

std::size_t characters(std::string const& text) {
  auto const begins = [](unsigned char c) { return (c & 0xc0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

// Returns the lines wider than `columns`, except commands and single long words, which are not
// wrapped.
std::vector<std::string> too_long(std::string const& help, std::size_t columns) {
  std::vector<std::string> all;
  for (auto const& line : test::lines(help)) {
    auto const begin = line.find_first_not_of(' ');
    bool const breaks = begin != line.npos && line.find(' ', begin) != line.npos;
    if (characters(line) > columns && breaks && line.find("  muster ") == line.npos)
      all.push_back(line);
  }
  return all;
}

TEST(help, fits_its_columns) {
  EXPECT_EQ(wrapped("one two three", 7, 2, 0), "one two\n  three");
  EXPECT_EQ(wrapped("averylongword b", 5, 2, 2), "averylongword\n  b");
  for (std::size_t const columns : {60u, 100u}) {
    CLI::App app("About it", "muster");
    app.formatter(std::make_shared<help_formatter>(columns));
    choice chosen;
    for (auto* add : {add_serve, add_launch, add_clusters, add_kv, add_resolve}) add(app, chosen);
    using lines = std::vector<std::string>;
    for (auto const* verb : app.get_subcommands([](CLI::App const*) { return true; }))
      EXPECT_EQ(too_long(verb->help(), columns), lines{}) << verb->get_name();
    EXPECT_EQ(too_long(app.help(), columns), lines{});
  }
}

TEST(help, help_of_serve_groups_all_flags_and_shows_common_ones) {
  CLI::App app("", "muster");
  app.formatter(std::make_shared<help_formatter>(100));
  choice chosen;
  add_serve(app, chosen);
  auto const& serve = *app.get_subcommand("serve");
  std::vector<std::string> ungrouped;
  for (auto const* option : serve.get_options())
    if (option->get_group() == "Options") ungrouped.push_back(option->get_lnames().front());
  EXPECT_EQ(ungrouped, (std::vector<std::string>{"help", "print-config", "help-all"}));
  auto const usual = serve.help(), all = serve.help("", CLI::AppFormatMode::All);
  for (auto const* group :
       {"Network:", "Storage:", "Security:", "Alerts:", "Logging:", "Failures:"})
    EXPECT_NE(usual.find(group), usual.npos) << group;
  EXPECT_EQ(usual.find("--closures-max"), usual.npos) << usual;
  EXPECT_EQ(usual.find("Limits:"), usual.npos);
  EXPECT_NE(usual.find("more flags (limits and rarely used flags): muster serve --help-all"),
            usual.npos);
  EXPECT_EQ(usual.find("\n\n\n"), usual.npos);
  for (auto const* option : serve.get_options())
    EXPECT_NE(all.find("--" + option->get_lnames().front()), all.npos);
  for (auto const* group : {"Limits:", "Advanced:"}) EXPECT_NE(all.find(group), all.npos) << group;
}

TEST(field_errors, name_the_flag) {
  CLI::App app("", "muster");
  choice chosen;
  add_launch(app, chosen);
  auto const& verb = *app.get_subcommand("launch");
  for (auto const& [field, said] :
       {std::pair("max_restarts", "--max-restarts"), std::pair("on_hang", "--on-hang"),
        std::pair("tasks.worker.resources.gpu", "--resource gpu"),
        std::pair("tasks.worker.labels.a.b", "--label a.b"),
        std::pair("tasks.worker.count", "--tasks worker.count"),
        std::pair("env.name", "--env name"), std::pair("key", "key"), std::pair("foo", "foo")})
    EXPECT_EQ(with_flags(verb, std::string(field) + ": is wrong", field),
              std::string(said) + ": is wrong");
  EXPECT_EQ(with_flags(verb, "the name is taken", "name"), "the name is taken");
}

TEST(ids, id_of_another_kind_is_explained) {
  EXPECT_EQ(other_id("prog_1", "a job"),
            "'prog_1' is a program: 'muster programs show prog_1' shows it");
  EXPECT_EQ(other_id("ps:12", "a job"),
            "'ps:12' is a task: 'muster tasks' shows it, 'muster stacks ps:12' prints its stacks");
  for (auto const* other : {"hello", ":1", "a:", "a:b", ""})
    EXPECT_EQ(other_id(other, "a job"), "'" + std::string(other) + "' is neither a job");
}

// A wider line would wrap, and the terminal could not overwrite it.
TEST(progress, fits_a_narrow_terminal) {
  int master = -1, slave = -1;
  winsize size{};
  size.ws_row = 20;
  size.ws_col = 30;
  ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, &size), 0);
  int const before = ::dup(STDERR_FILENO);
  ::dup2(slave, STDERR_FILENO);
  {
    screen shown(false);
    shown.draw(std::string(50, 'x'));
  }
  ::dup2(before, STDERR_FILENO);
  std::string drawn(200, ' ');
  auto const got = ::read(master, drawn.data(), drawn.size());
  EXPECT_EQ(drawn.substr(0, static_cast<std::size_t>(got)).rfind("\r" + std::string(28, 'x'), 0),
            0u);
  EXPECT_EQ(drawn.find(std::string(29, 'x')), drawn.npos) << drawn;
  for (int const fd : {master, slave, before}) ::close(fd);
}

// The server stops during the first request and restarts at once.
TEST(fetch, repeats_its_request_when_the_server_restarts) {
  using way = test::http_reply::way;
  int asked = 0;
  test::http_service server([&](test::http_seen const& seen) -> test::http_reply {
    if (seen.path().find("/value") == std::string::npos) return {.body = "ok"};
    return ++asked <= 2
               ? test::http_reply{.sent = way::hang_up}
               : test::http_reply{.body = "42", .headers = {{"Content-Type", "application/json"}}};
  });
  CLI::App app("", "muster");
  choice chosen;
  add_fetch(app, chosen);
  app.parse("fetch rv_0000000000000001 --url " + server.url());
  testing::internal::CaptureStdout();
  EXPECT_EQ(chosen.run(), exit_ok);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "42\n");
}

}  // namespace
}  // namespace muster::cli
