// Writes RocksDB's diagnostics to the file LOG in its directory. Lines that cannot be written are
// dropped: RocksDB's own logger aborts the process if it continues after a failed write, for
// example on a full disk. Thread-safe. LOG and LOG.old are limited to `bytes_max` each.
#pragma once

#include <rocksdb/env.h>

#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>

#include "server/disk/open_file.hpp"

namespace muster::server {

class rocks_log final : public rocksdb::Logger {
 public:
  static constexpr std::uintmax_t bytes_max = 1 << 20;

  rocks_log(std::filesystem::path const& directory, rocksdb::InfoLogLevel level)
      : rocksdb::Logger(level), path_(directory / "LOG") {}

  using rocksdb::Logger::Logv;
  void Logv(char const* format, std::va_list values) override {
    std::array<char, 4'096> text{};
    auto const n = std::vsnprintf(text.data(), text.size(), format, values);
    if (n <= 0) return;
    auto const now = std::chrono::system_clock::now().time_since_epoch();
    auto const line =
        std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) + " " +
        text.data() + "\n";
    std::lock_guard const lock(mutex_);
    std::error_code error;
    if (std::filesystem::file_size(path_, error) > bytes_max && !error)
      std::filesystem::rename(path_, path_.string() + ".old", error);
    open_file const file(path_, O_WRONLY | O_APPEND | O_CREAT);
    if (file) (void)file.write(line);
  }
  /// Drops the option list that RocksDB prints at each start.
  void LogHeader(char const*, std::va_list) override {}

 private:
  std::filesystem::path const path_;
  std::mutex mutex_;
};

}  // namespace muster::server
