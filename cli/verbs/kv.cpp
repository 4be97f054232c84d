// muster kv: reads and writes the key-values of a cluster.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

struct kv_options : server_options {
  std::vector<std::string> words;
  std::vector<std::string> const* literal = nullptr;
  std::string cluster = "default";
  std::optional<duration> timeout;
  bool insert = false, recursive = false;
};

constexpr duration wait_default = std::chrono::seconds(60);
// Maximum wait of one request; longer waits take several requests.
constexpr duration one_key_wait = std::chrono::seconds(30);

std::string base(kv_options const& o) {
  return "/api/v1/clusters/" + percent_encoded(o.cluster) + "/kv";
}

// JSON output contains the whole value.
std::string in_short(json::value const& key) {
  if (auto const& text = field_of(key, "value"); text.is_string())
    return for_terminal(std::string(text.get_string()), 60);
  return "(binary)";
}

int list(rest& server, parsed_action const& words, kv_options const& o) {
  auto const prefix = words.rest().empty() ? std::string() : words.rest()[0];
  auto const all = server.all(base(o) + "?prefix=" + percent_encoded(prefix), "keys");
  if (printed_as_json(o.output, all)) return exit_ok;
  table rows({"KEY", right("BYTES"), "VALUE"});
  for (auto const& key : all)
    rows.add({for_terminal(text_of(key, "key")), text_of(key, "size"), in_short(key)});
  rows.print(std::cout);
  if (all.empty())
    std::cerr << (prefix.empty() ? "no key yet\n" : "no key begins with '" + prefix + "'\n");
  return exit_ok;
}

int print_value(std::string const& key, muster::http_response const& got, output_format output) {
  bool const text = got.header("Content-Type").starts_with("text/");
  if (output == output_format::json) {
    json::object o{{"key", key}, {"size", got.body.size()}};
    o[text ? "value" : "value_base64"] = text ? got.body : muster::base64(got.body);
    std::cout << json::serialize(o) << '\n';
    return exit_ok;
  }
  std::cout << got.body;  // unchanged, because a pipe may need every byte
  if (isatty(STDOUT_FILENO) && !got.body.ends_with('\n')) std::cout << '\n';
  return exit_ok;
}

int get(rest& server, parsed_action const& words, kv_options const& o) {
  using steady = std::chrono::steady_clock;
  auto const key = words.need(0, "KEY");
  auto const path = base(o) + "/" + percent_encoded(key);
  auto const start = steady::now();
  for (;;) {
    auto const past = std::chrono::floor<duration>(steady::now() - start);
    auto const wait = std::clamp(o.timeout.value_or(duration(0)) - past, duration(0), one_key_wait);
    auto const got = server.send("GET", o.timeout ? path + "?timeout=" + to_string(wait) : path, {},
                                 {}, wait + std::chrono::seconds(30));
    if (got.ok()) return print_value(key, got, o.output);
    bool const late = got.status == 504;
    if (late && o.timeout && steady::now() - start >= *o.timeout)
      throw command_error(exit_failed,
                          "key '" + key + "' was not set within " + to_string(*o.timeout));
    if (!late) throw rest::problem(got);
  }
}

std::string read_stdin() {
  constexpr std::size_t bytes_max = std::size_t{64} << 20;
  std::string text;
  char piece[64 << 10];
  while (std::cin.read(piece, sizeof piece), std::cin.gcount() > 0) {
    text.append(piece, static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > bytes_max)
      throw command_error(exit_usage, "VALUE on stdin is larger than 64 MiB");
  }
  return text;
}

int put(rest& server, parsed_action const& words, kv_options const& o) {
  auto const& key = words.need(0, "KEY");
  if (words.rest().size() < 2) throw words.wrong("VALUE is missing; write - to read it from stdin");
  auto value = words.rest()[1];
  if (value == "-") value = read_stdin();
  auto const done =
      server.put(base(o) + "/" + percent_encoded(key), std::move(value), o.insert ? "*" : "");
  if (done.status == 412)
    throw command_error(exit_failed,
                        "key '" + key + "' already exists; omit --insert to overwrite it");
  if (!done.ok()) throw rest::problem(done);
  if (o.output == output_format::json) std::cout << done.body;
  return exit_ok;
}

int erase(rest& server, parsed_action const& words, kv_options const& o) {
  auto const path = base(o) + "/" + percent_encoded(words.need(0, "KEY"));
  auto const done = server.send("DELETE", o.recursive ? path + "?recursive=true" : path);
  if (done.status == 409 && !o.recursive)
    throw command_error(
        exit_failed,
        "'" + words.rest()[0] + "' has other keys below it; add --recursive to delete them too");
  if (!done.ok()) throw rest::problem(done);
  return exit_ok;
}

int waits(rest& server, parsed_action const& words, kv_options const& o) {
  auto const prefix = words.rest().empty() ? std::string() : words.rest()[0];
  auto const answer = server.get("/api/v1/clusters/" + percent_encoded(o.cluster) +
                                 "/kv_waits?limit=1000&prefix=" + percent_encoded(prefix));
  if (printed_as_json(o.output, answer)) return exit_ok;
  auto const& keys = list_of(answer, "keys");
  table rows({"KEY", right("WAITING"), right("LONGEST"), "TASKS"});
  for (auto const& k : keys) {
    std::string names;
    std::int64_t longest = 0;
    for (auto const& w : list_of(k, "waiters")) {
      names += (names.empty() ? "" : ", ") + text_of(w, "task");
      longest = std::max(longest, number_of(w, "waiting_ms"));
    }
    rows.add({for_terminal(text_of(k, "key"), 64), text_of(k, "count"),
              rounded(std::chrono::milliseconds(longest)), for_terminal(names, 80)});
  }
  rows.print(std::cout);
  if (keys.empty()) std::cerr << "no task is waiting for a key\n";
  return exit_ok;
}

int run_kv(kv_options& o) {
  // CLI11 would treat a value that begins with a dash as a flag.
  o.words.insert(o.words.end(), o.literal->begin(), o.literal->end());
  parsed_action const words(
      "kv", o.words,
      {{"list", 1}, {"get", 1}, {"put", 2}, {"delete", 1}, {"wait", 1}, {"waits", 1}});
  rest server(o.rest);
  if (words.action() == "list") return list(server, words, o);
  if (words.action() == "wait" && !o.timeout) o.timeout = wait_default;
  if (words.action() == "get" || words.action() == "wait") return get(server, words, o);
  if (words.action() == "put") return put(server, words, o);
  if (words.action() == "delete") return erase(server, words, o);
  return waits(server, words, o);
}

}  // namespace

void add_kv(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "kv", "List, read, write or delete the keys of a cluster", run_kv);
  o->literal = &chosen.literal;
  add_value(*verb, "action", o->words,
            "list [PREFIX] | get KEY | wait KEY | put KEY VALUE | delete KEY | waits [PREFIX]",
            "Action (default: list)");
  add_cluster_option(*verb, o->cluster);
  add_duration(*verb, "--timeout", o->timeout, "get, wait: time to wait for the key (wait: 60s)");
  verb->add_flag("--insert", o->insert, "put: fail if the key exists");
  verb->add_flag("--recursive", o->recursive, "delete: also delete the keys below this key");
  add_server_options(*verb, *o);
  verb->footer(
      "Examples:\n  muster kv put config/steps 1000\n  muster kv wait config/steps --timeout 30s\n"
      "  muster kv put model - < model.bin\n  muster kv put offset -- -5\n  muster kv delete "
      "config --recursive\n"
      "  muster kv waits");
}

}  // namespace muster::cli
