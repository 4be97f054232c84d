// Memory that other processes can take: sealed memfds, which nobody can change or truncate any
// more. The kernel frees one with its last descriptor or mapping. The name of its content is in its
// file name, or in a label at its end where its maker uses it again (regions.hpp). Any thread;
// nothing here is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
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
/// One behind the other they are a content.
using memory_parts = std::span<std::string_view const>;

/// The end of memory that is used again: which content it has.
inline constexpr std::size_t label_bytes = 48;
std::string content_label(std::string_view name, std::uint64_t size);
/// From here on nobody maps it for writing, or truncates it. Errors: std::system_error, as where
/// the system has no such seal.
void seal_labelled(int fd);

/// Copies or compares, by several threads where that is faster.
void copy_by_several(char* into, std::string_view bytes);
bool same_bytes(char const* one, char const* other, std::size_t size);

/// Of the content that a sealed descriptor has. Errors: std::system_error.
std::uint64_t content_size(int fd);
/// Why it is not that content, whole and sealed; empty: it is.
std::string wrong_memory(int fd, std::string_view name, std::uint64_t size);
/// Whether memory, or a file on disk, has the content of this name.
bool is_named(int fd, std::string_view name);

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
