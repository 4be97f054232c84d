// Shared by rocks_store and rocks_view: RocksDB settings, error messages, reading.
#pragma once

#include <rocksdb/db.h>

#include <filesystem>

#include "server/journal/store.hpp"

namespace muster::server::journal::rocks {

rocksdb::Options options();
/// Returns FAILED_PRECONDITION with the path: the directory cannot be used in this way.
muster::status refused(std::filesystem::path const& directory, std::string const& why);
/// Returns an error in Muster's own words if it is a common one.
std::string explained(rocksdb::Status const& s);
/// Returns whether any process, including this one, has the directory open for writing.
bool is_locked(std::filesystem::path const& directory);
/// Return a message about damage: with the reason `how`, or with the file and offset of the record.
std::string damaged(std::string const& how);
std::string damaged(std::string const& file, std::uint64_t at);
/// Implements store::read.
muster::status read(rocksdb::DB& db, std::string_view prefix, store::visitor const& v);

}  // namespace muster::server::journal::rocks
