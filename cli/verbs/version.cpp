// muster version: prints the version of this binary and of the server.
#include "base/version.hpp"

#include <grpcpp/version_info.h>

#include <boost/version.hpp>
#include <iostream>

#include "cli/rest.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster::cli {
namespace {

constexpr auto server_patience = std::chrono::seconds(2);

struct version_options : server_options {
  bool client = false;
};

#ifdef __clang__
constexpr char compiler[] = "Clang ";
#else
constexpr char compiler[] = "GCC ";
#endif

json::object own() {
  return {{"version", version()},
          {"compiler", __VERSION__},
          {"grpc", GRPC_CPP_VERSION_STRING},
          {"boost", std::to_string(BOOST_VERSION / 100000) + '.' +
                        std::to_string(BOOST_VERSION / 100 % 1000)}};
}

// Returns the first answer from the addresses, or null if no address answers, which is not a
// failure. `why` is the reason, such as a missing token.
json::value server(rest_options const& o, std::string& why) {
  why = "no server answers at " + o.url;
  for (auto const url : cluster::split(o.url, ',')) {
    rest_options one = o;
    one.url = std::string(url);
    try {
      rest asked(std::move(one));
      auto const answer = asked.get("/api/v1/version", server_patience);
      return json::object{{"version", text_of(answer, "version")}, {"url", asked.url()}};
    } catch (command_error const& e) {
      if (e.status() == exit_usage) throw;
      if (e.status() != exit_unreachable) why = e.what();
    }
  }
  return nullptr;
}

int run_version(version_options& o) {
  auto const mine = own();
  std::string why;
  auto const theirs = o.client ? json::value() : server(o.rest, why);
  if (printed_as_json(o.output, json::object{{"client", mine}, {"server", theirs}})) return exit_ok;
  std::cout << "muster " << text_of(mine, "version") << " (" << compiler
            << text_of(mine, "compiler") << ", gRPC " << text_of(mine, "grpc") << ", Boost "
            << text_of(mine, "boost") << ")\n";
  if (o.client) return exit_ok;
  if (theirs.is_null()) {
    std::cout << "server: " << why << '\n';
    return exit_ok;
  }
  std::cout << "server " << text_of(theirs, "version") << " at " << text_of(theirs, "url") << '\n';
  if (text_of(theirs, "version") != version())
    std::cerr << "muster: the server has a different version; docs/upgrade.md lists which versions "
                 "work together\n";
  return exit_ok;
}

}  // namespace

void add_version(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "version",
               "Print the versions of this program, its libraries and the server", run_version);
  verb->add_flag("--client", o->client, "Print only the version of this program");
  add_server_options(*verb, *o);
}

}  // namespace muster::cli
