// Memory that other processes can take: sealed memfds, which nobody can change or cut off any more.
// The kernel frees one with its last descriptor or mapping. Its file name says which content it is.
// python/muster/_shared/memory.py makes and takes the same. Any thread; nothing here is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/process/file_descriptor.hpp"

namespace muster::detail {

inline constexpr std::size_t name_bytes = 32;

/// Whether other processes of this user may open what this one has: not where it has changed its
/// user after it was started.
bool memory_can_be_shared();
/// The same text for processes that reach each other's Unix sockets, and may: those of a kernel, a
/// network namespace and a user, in C++ and Python. Empty: the system does not say.
std::string const& this_host();
/// What a process may hold; 0: none. `asked`: see blobs_options.
std::size_t memory_max(std::optional<std::size_t> asked);

/// 32 random bytes.
std::string random_name();

/// A sealed descriptor of the bytes. Errors: std::system_error, as when memory is full.
file_descriptor make_memory(std::string_view name, std::string_view bytes);
/// Of what `fill` writes to it. Errors: also those of `fill`.
file_descriptor filled_memory(std::string_view name, std::function<void(int fd)> const& fill);
/// All of them, at the file's place. Errors: std::system_error.
void write_all(int fd, std::string_view bytes);
/// Of the content that a sealed descriptor has. Errors: std::system_error.
std::uint64_t content_size(int fd);
/// Why it is not that content, whole and sealed; empty: it is.
std::string wrong_memory(int fd, std::string_view name, std::uint64_t size);

/// Its bytes, to be read. Needs no descriptor any more.
class mapping {
 public:
  /// Errors: std::system_error.
  explicit mapping(int fd);
  ~mapping();
  mapping(mapping const&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace muster::detail
