// muster version: what this binary is.
#include <grpcpp/version_info.h>

#include <boost/version.hpp>
#include <iostream>

#include "cli/command.hpp"

namespace muster::cli {
namespace {

struct options {};

int run(options&) {
  std::cout << "muster " MUSTER_VERSION " (" << __VERSION__ << ", gRPC " GRPC_CPP_VERSION_STRING
            << ", Boost " << BOOST_VERSION / 100000 << '.' << BOOST_VERSION / 100 % 1000 << ")\n";
  return exit_ok;
}

}  // namespace

void add_version(CLI::App& app, choice& chosen) {
  add_verb(app, chosen, "version", "Print the version and what it was built with", run);
}

}  // namespace muster::cli
