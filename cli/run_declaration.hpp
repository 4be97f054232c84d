// A cluster that `muster run --declare NAME` has on a running server for as long as it runs.
#pragma once

#include <string>

#include "cli/rest.hpp"
#include "muster/cluster_spec.hpp"

namespace muster::cli {

class run_declaration {
 public:
  /// With the tasks that train: so many agents will come. Errors: command_error.
  run_declaration(rest_options options, std::string name, cluster_spec const& spec);
  /// The server forgets it; if that fails, says so on stderr.
  ~run_declaration();
  run_declaration(run_declaration const&) = delete;

  /// Of its coordination service, as reached by whoever reaches the server's URL.
  std::string const& address() const { return address_; }

 private:
  rest server_;
  std::string name_, address_;
};

}  // namespace muster::cli
