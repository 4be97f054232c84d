// RocksDB settings, error messages and reading, shared by rocks_store and rocks_view.
#pragma once

#include <rocksdb/db.h>

#include <filesystem>

#include "server/journal/store.hpp"

namespace muster::server::journal::rocks {

rocksdb::Options options();
muster::status refused(std::filesystem::path const& directory, std::string const& why);
std::string explained(rocksdb::Status const& s);
/// Returns whether any process, including this one, has the directory open for writing.
bool is_locked(std::filesystem::path const& directory);
std::string damaged(std::string const& how);
std::string damaged(std::string const& file, std::uint64_t at);
muster::status read(rocksdb::DB& db, std::string_view prefix, store::visitor const& v);

}  // namespace muster::server::journal::rocks
