#include "launch/cluster/text_file.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>

#include "launch/cluster/json_text.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster::cluster {
namespace {

// Calls a qualified function, because argument-dependent lookup would find std::quoted for a path.
std::string named(std::filesystem::path const& file) {
  return cluster::quoted(file.string());
}

[[noreturn]] void fail(std::filesystem::path const& file, std::error_code error) {
  auto const line = named(file) + ": " + error.message();
  if (error == std::errc::permission_denied) throw cluster_error(cluster_error::code::denied, line);
  if (error == std::errc::no_such_file_or_directory) throw missing(line);
  throw invalid(line);
}

}  // namespace

std::string read_text_file(std::filesystem::path const& file) {
  std::error_code error;
  auto const status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found)
    fail(file, std::make_error_code(std::errc::no_such_file_or_directory));
  if (error) fail(file, error);
  // Opening a FIFO would block.
  if (!std::filesystem::is_regular_file(status))
    throw invalid(named(file) + ": not a regular file");
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(file, std::error_code(errno, std::generic_category()));
  std::string text;
  char piece[64 * 1024];
  while (in.read(piece, sizeof piece), in.gcount() > 0) {
    text.append(piece, static_cast<std::size_t>(in.gcount()));
    if (text.size() > json_bytes_max)
      throw invalid(named(file) + ": larger than " + std::to_string(json_bytes_max) +
                    " bytes, which is the limit");
  }
  if (in.bad()) fail(file, std::make_error_code(std::errc::io_error));
  return text;
}

}  // namespace muster::cluster
