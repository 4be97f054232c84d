// The tokens of a data directory whose server is stopped, for the command line. One thread; as long
// as it lives no server can open the directory.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "server/core/access/token_table.hpp"
#include "server/hub/access/token_keeper.hpp"
#include "server/journal/rocks_store.hpp"

namespace muster::server {

class stored_tokens {
 public:
  /// Makes the directory when it is not there. FAILED_PRECONDITION, in one line: in use, something
  /// else's, or of a newer server. `version` is of this program.
  static muster::result<stored_tokens> open(std::filesystem::path const& directory,
                                            std::string const& version);

  core::token_table const& state() const { return tokens_; }
  // On the disk when they return. Errors: token_table's, and the disk's.
  muster::result<new_token> create(wanted_token const& w, core::time_point now);
  muster::result<new_token> rotate(std::string const& id);
  muster::status revoke(std::string const& id, core::time_point now);

 private:
  muster::status write(std::string const& id);

  std::unique_ptr<journal::rocks_store> store_;
  core::token_table tokens_;
};

}  // namespace muster::server
