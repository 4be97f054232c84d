// Tokens of a stopped server's data directory or etcd store, for the command line. One thread. No
// server can use that place in the meantime: the directory is locked, and in etcd this object
// leads.
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
  /// Opens the directory, and creates it if it does not exist. FAILED_PRECONDITION, in one line: it
  /// is in use, foreign, or of a newer server. `version` is of this program.
  static muster::result<stored_tokens> open(std::filesystem::path const& directory,
                                            std::string const& version);

  /// Opens a store in etcd. FAILED_PRECONDITION as for a directory, or because a server leads.
  /// UNAVAILABLE: etcd does not answer.
  /// @param over called when leadership is lost; must not return, because nothing may be written
  ///   afterwards
  static muster::result<stored_tokens> open(journal::etcd::access const& a,
                                            std::string const& version,
                                            std::function<void(std::string const& why)> over);

  core::token_table const& state() const { return tokens_; }
  // Changes are on disk when these functions return. They return errors of token_table and of the
  // disk.
  muster::result<new_token> create(token_request const& w, core::time_point now);
  /// Rotates a token like token_keeper, without a server.
  muster::result<new_token> rotate(std::string const& id);
  muster::status revoke(std::string const& id, core::time_point now);

 private:
  muster::status read(std::string const& name, std::string const& version);
  muster::status write(std::string const& id);

  journal::etcd::exclusive_leadership lead_;  // leadership for store_; empty for a directory
  std::unique_ptr<journal::store> store_;
  core::token_table tokens_;
};

}  // namespace muster::server
