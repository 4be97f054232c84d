#include "app/ready_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace muster::server {

muster::result<void> write_ready_file(std::filesystem::path const& path, endpoint const& grpc,
                                      endpoint const& http, bool tls) {
  return write_ready_file(path, R"({"grpc":")" + (grpc.port == 0 ? "" : to_string(grpc)) +
                                    R"(","http":")" + to_string(http) +
                                    (tls ? R"(","tls":true})" : R"("})"));
}

muster::result<void> write_ready_file(std::filesystem::path const& path, std::string const& json) {
  auto const failed = [&path](char const* reason) {
    return muster::status{muster::code::failed_precondition,
                          "cannot write the ready file " + path.string() + ": " + reason};
  };
  // The process ID in the name prevents servers with the same ready file from writing the same
  // temporary file.
  auto part = path;
  part += std::string(".").append(std::to_string(::getpid()));
  {
    auto file = std::ofstream(part, std::ios::trunc);
    file << json << '\n';
    file.close();
    if (!file) return failed(std::strerror(errno));
  }
  std::error_code error;
  std::filesystem::rename(part, path, error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    return failed(error.message().c_str());
  }
  return {};
}

}  // namespace muster::server
