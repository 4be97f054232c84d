// The tokens of a data directory or a store in etcd whose server is stopped, for the command line.
// One thread; as long as it lives no server can have that place: a directory is locked, a store
// led.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "server/core/access/token_table.hpp"
#include "server/hub/access/token_keeper.hpp"
#include "server/journal/etcd/upkeep.hpp"
#include "server/journal/store.hpp"

namespace muster::server {

class stored_tokens {
 public:
  /// Makes the directory when it is not there. FAILED_PRECONDITION, in one line: in use, something
  /// else's, or of a newer server. `version` is of this program.
  static muster::result<stored_tokens> open(std::filesystem::path const& directory,
                                            std::string const& version);

  /// The same in etcd. FAILED_PRECONDITION: a server leads there, too; UNAVAILABLE: etcd does not
  /// answer. `over`: etcd has lost the lead, nothing may be written any more; must not return.
  static muster::result<stored_tokens> open(journal::etcd::access const& a,
                                            std::string const& version,
                                            std::function<void(std::string const& why)> over);

  core::token_table const& state() const { return tokens_; }
  // On the disk when they return. Errors: token_table's, and the disk's.
  muster::result<new_token> create(wanted_token const& w, core::time_point now);
  /// As token_keeper has it, without a server.
  muster::result<new_token> rotate(std::string const& id);
  muster::status revoke(std::string const& id, core::time_point now);

 private:
  muster::status read(std::string const& name, std::string const& version);
  muster::status write(std::string const& id);

  journal::etcd::sole_lead lead_;  // of what store_ writes to; nothing: a directory
  std::unique_ptr<journal::store> store_;
  core::token_table tokens_;
};

}  // namespace muster::server
