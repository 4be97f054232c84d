// Helpers that create, inspect and damage data directories.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "muster/journal/v1/records.pb.h"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/rocks.hpp"
#include "server/journal/rocks_store.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::server::journal {

inline std::string format_entry(std::uint32_t version = 1) {
  muster::journal::v1::Format f;
  f.set_version(version);
  f.set_written_by("9.9");
  f.set_epoch(7);
  return f.SerializeAsString();
}

inline std::unique_ptr<rocks_store> opened(std::filesystem::path const& at) {
  auto s = rocks_store::open(at);
  EXPECT_TRUE(s.has_value()) << s.error().message;
  return std::move(*s);
}

/// Opens RocksDB itself, for operations that the store does not offer.
inline std::unique_ptr<rocksdb::DB> opened_as(std::filesystem::path const& at,
                                              rocksdb::Options options) {
  options.create_if_missing = true;
  rocksdb::DB* made = nullptr;
  EXPECT_TRUE(rocksdb::DB::Open(options, at.string(), &made).ok());
  return std::unique_ptr<rocksdb::DB>(made);
}

/// Returns the format entry, a cluster "train" with two workers and one task, and keys.
inline std::vector<change> some_entries(int keys = 2) {
  using namespace core::coordination;
  core::time_point const at{std::chrono::seconds(1'700'000'000)};
  cluster_fact c;
  c.spec = {.name = "train", .jobs = {{"worker", 2, false}}};
  std::vector<fact> facts = {{"train", c}};
  facts.push_back(
      {"train",
       task_fact{
           1, agent_state::connected, false, false, true, core::incarnation{8}, nullptr, at, {}}});
  for (int i = 0; i < keys; ++i)
    facts.push_back({"train", key_fact{"key/" + std::to_string(i), core::blob("value"), at}});
  std::vector<change> batch = {{change::kind::put, "format", format_entry()}};
  encode(facts, batch);
  return batch;
}

/// Names, contents and times: a reader must not change them.
inline std::map<std::string, std::string> state_of(std::filesystem::path const& directory) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> all;
  for (auto const& f : fs::directory_iterator(directory))
    all[f.path().filename()] = std::to_string(f.last_write_time().time_since_epoch().count()) +
                               " " + test::read_file(f.path());
  all["."] = std::to_string(fs::last_write_time(directory).time_since_epoch().count());
  return all;
}

inline std::filesystem::path file_of(std::filesystem::path const& directory,
                                     std::string const& part) {
  std::filesystem::path found;
  for (auto const& f : std::filesystem::directory_iterator(directory))
    if (f.path().filename().string().find(part) != std::string::npos) found = f.path();
  EXPECT_FALSE(found.empty()) << part;
  return found;
}

inline void set_byte(std::filesystem::path const& file, std::size_t at, char to) {
  std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
  f.seekp(static_cast<std::streamoff>(at));
  f.put(to);
}

}  // namespace muster::server::journal
