// What both ways to open a RocksDB directory share: settings, words for its errors, reading.
#pragma once

#include <rocksdb/db.h>

#include <filesystem>

#include "server/journal/store.hpp"

namespace muster::server::journal::rocks {

rocksdb::Options options();
/// FAILED_PRECONDITION: the directory is not one that can be used so; it begins with its path.
muster::status refused(std::filesystem::path const& directory, std::string const& why);
/// In words of ours where it is one of the errors that people meet.
std::string explained(rocksdb::Status const& s);
/// Whether somebody, this process or another, has the directory open to write.
bool is_locked(std::filesystem::path const& directory);
/// The same for damage: `how`, and a record of this file that begins at this byte.
std::string damaged(std::string const& how);
std::string damaged(std::string const& file, std::uint64_t at);
/// As store::read.
muster::status read(rocksdb::DB& db, std::string_view prefix, store::visitor const& v);

}  // namespace muster::server::journal::rocks
