// Tokens in a stopped server's data directory or etcd store, for the command line. Used on one
// thread. No server can use the data at the same time: the directory is locked, and in etcd this
// object is the leader.
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
  /// Opens the directory, or creates it. Returns FAILED_PRECONDITION, with a one-line message, if
  /// the directory is in use, foreign, or from a newer server.
  static muster::result<stored_tokens> open(std::filesystem::path const& directory,
                                            std::string const& version);

  /// Opens a store in etcd. Returns FAILED_PRECONDITION as for a directory, or if a server is the
  /// leader. Returns UNAVAILABLE if etcd does not answer.
  /// @param over Called when leadership is lost. Must not return, because nothing may be written
  ///   afterwards.
  static muster::result<stored_tokens> open(journal::etcd::access const& a,
                                            std::string const& version,
                                            std::function<void(std::string const& why)> over);

  core::token_table const& state() const { return tokens_; }
  // Changes are on disk when these functions return. The functions return the errors of token_table
  // and of the disk.
  muster::result<new_token> create(token_request const& w, core::time_point now);
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
