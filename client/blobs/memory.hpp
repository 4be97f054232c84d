// Memory that other processes can map: sealed memfds, which cannot be modified or truncated. The
// kernel frees a memfd when its last descriptor or mapping is closed. The value's name is the file
// name or, in reusable memory (regions.hpp), a label at the end. Thread-safe.
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

/// Returns true if other processes of this user can open this process's descriptors. Returns false
/// after the process has changed its user.
bool memory_can_be_shared();
/// Returns a string that is the same for all processes that can reach each other's Unix sockets.
/// These processes have the same kernel, network namespace and user. The C++ and Python
/// implementations return the same string. Empty if unknown.
std::string const& this_host();
/// Returns the maximum number of bytes that a process can hold. See blobs_options::shm_bytes_max
/// for `asked`.
std::size_t memory_max(std::optional<std::size_t> asked);

std::string random_name();

/// Returns a sealed descriptor. Throws std::system_error, for example if memory is full.
file_descriptor make_memory(std::string_view name, std::string_view bytes);
/// Returns a sealed descriptor with the bytes that `fill` writes. Also throws the exceptions of
/// `fill`.
file_descriptor filled_memory(std::string_view name, std::function<void(int fd)> const& fill);
/// Throws std::system_error.
void write_all(int fd, std::string_view bytes);
using memory_parts = std::span<std::string_view const>;

/// Size in bytes of the label, which names the current value.
inline constexpr std::size_t label_bytes = 48;
std::string content_label(std::string_view name, std::uint64_t size);
/// Seals memory against further writable mappings and truncation. Throws std::system_error, for
/// example if the system does not support these seals.
void seal_labelled(int fd);

/// These two functions use several threads if that is faster.
void copy_by_several(char* into, std::string_view bytes);
bool same_bytes(char const* one, char const* other, std::size_t size);

/// Precondition: the descriptor is sealed. Throws std::system_error.
std::uint64_t content_size(int fd);
/// Returns the reason why the descriptor does not contain the complete, sealed value, or an empty
/// string if the value is correct.
std::string wrong_memory(int fd, std::string_view name, std::uint64_t size);
/// Returns true if the memory or disk file contains the value with this name.
bool is_named(int fd, std::string_view name);

/// A read-only mapping. Does not need the descriptor after construction.
class mapping {
 public:
  /// Throws std::system_error.
  explicit mapping(int fd);
  ~mapping();
  mapping(mapping const&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace muster::detail
