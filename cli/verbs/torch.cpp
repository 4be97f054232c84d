// muster torch: shows a cluster's torch.distributed TCPStore and its missing ranks, and clears its
// keys.
#include <algorithm>
#include <iostream>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

struct torch_options : server_options {
  std::vector<std::string> words;
  std::string cluster = "default";
  std::string prefix;
  std::size_t attempt = 0;
  std::size_t limit = 100;
};

std::string base(torch_options const& o) {
  return "/api/v1/clusters/" + percent_encoded(o.cluster) + "/torch";
}

std::string why(std::string const& cause) {
  if (cause == "asked") return "it was requested";
  if (cause == "all_left") return "all clients had left";
  if (cause == "rank_anew") return "a rank had reconnected";
  if (cause == "launched") return "its program began an attempt";
  return "the first";
}

std::string or_dash(std::string text) {
  return text.empty() ? "-" : text;
}

void show_waits(json::value const& store) {
  auto const& waits = list_of(store, "waits");
  if (waits.empty()) return;
  std::cout << '\n';
  table rows({"WAITED FOR", right("RANK"), right("SINCE"), right("CLIENTS")});
  for (auto const& w : waits)
    rows.add({for_terminal(text_of(w, "key"), 64), or_dash(text_of(w, "rank")),
              rounded(std::chrono::milliseconds(number_of(w, "waiting_ms"))), text_of(w, "count")});
  rows.print(std::cout);
}

void show(json::value const& store, output_format output) {
  if (printed_as_json(output, store)) return;
  auto const address = text_of(store, "address");
  std::cout << "store        " << (address.empty() ? "only for the program's ranks" : address)
            << '\n'
            << "connections  " << text_of(store, "connections_total") << '\n';
  auto title = "attempt      ";
  for (auto const& a : list_of(store, "attempts")) {
    std::cout << title << text_of(a, "number") << " (" << why(text_of(a, "cause"))
              << "): " << text_of(a, "connections") << " connections, " << text_of(a, "keys")
              << " keys, " << text_of(a, "bytes") << " bytes\n";
    title = "before       ";
  }
  if (list_of(store, "attempts").empty()) std::cerr << "no client has connected yet\n";
  if (auto const missing = list_of(store, "missing"); !missing.empty()) {
    std::cout << (missing.size() == 1 ? "missing      rank " : "missing      ranks ");
    for (std::size_t i = 0; i < missing.size(); ++i)
      std::cout << (i > 0 ? ", " : "") << json::serialize(missing[i]);
    std::cout << '\n';
  }
  auto const& ranks = list_of(store, "ranks");
  if (!ranks.empty()) {
    std::cout << '\n';
    table rows({right("RANK"), "PEER", right("PID"), "STATE"});
    for (auto const& r : ranks)
      rows.add({text_of(r, "rank"), text_of(r, "peer"), or_dash(text_of(r, "pid")),
                is_true(r, "connected") ? "connected" : "disconnected"});
    rows.print(std::cout);
  }
  show_waits(store);
  if (is_true(store, "more"))
    std::cerr << "the lists are incomplete; raise --limit to see all entries\n";
}

void list_keys(rest& server, torch_options const& o) {
  auto path = base(o) + "/keys?prefix=" + percent_encoded(o.prefix);
  if (o.attempt > 0) path += "&attempt=" + std::to_string(o.attempt);
  bool more = false;
  auto const all = server.some(path, "keys", o.limit, &more);
  if (printed_as_json(o.output, all)) return;
  table rows({"KEY", right("BYTES")});
  for (auto const& k : all) rows.add({for_terminal(text_of(k, "key")), text_of(k, "bytes")});
  rows.print(std::cout);
  if (more) std::cerr << "there are more keys; raise --limit to see them\n";
}

int run_torch(torch_options& o) {
  parsed_action const words("torch", o.words, {{"show", 0}, {"keys", 0}, {"renew", 0}});
  rest server(o.rest);
  if (words.action() == "show") {
    show(server.get(base(o) + "?limit=" + std::to_string(std::min<std::size_t>(o.limit, 1'000))),
         o.output);
  } else if (words.action() == "keys") {
    list_keys(server, o);
  } else {
    auto const a = server.post(base(o) + "/attempts", {});
    if (!printed_as_json(o.output, a))
      std::cout << "attempt " << text_of(a, "number")
                << ": clients that connect from now on find an empty store\n";
  }
  return exit_ok;
}

}  // namespace

void add_torch(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "torch",
               "Show a cluster's torch.distributed store: missing ranks and keys", run_torch);
  add_value(*verb, "action", o->words, "show | keys | renew",
            "Action (default: show). renew: clients that connect from now on find an empty store");
  add_cluster_option(*verb, o->cluster);
  add_value(*verb, "--prefix", o->prefix, "TEXT", "keys: only keys that begin with this text")
      ->configurable(false);
  add_count(*verb, "--attempt", o->attempt,
            "keys: only keys of this attempt; 0: the newest attempt")
      ->configurable(false);
  add_count(*verb, "--limit", o->limit, "Maximum number of entries to list", 1);
  add_server_options(*verb, *o);
  verb->footer(
      "Examples:\n  muster torch\n  muster torch keys --prefix /default_pg --cluster train\n"
      "  muster torch renew --cluster train");
}

}  // namespace muster::cli
