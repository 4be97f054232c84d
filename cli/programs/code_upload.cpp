#include "cli/programs/code_upload.hpp"

#include <absl/strings/escaping.h>
#include <openssl/sha.h>

#include <chrono>
#include <iostream>
#include <vector>

#include "base/archive/pack.hpp"
#include "base/text.hpp"
#include "cli/progress.hpp"

namespace muster::cli {
namespace {

// Allows the largest upload on a slow connection.
constexpr std::chrono::minutes put_limit{30};
constexpr std::chrono::milliseconds drawn_every{100};

void warn_of(std::vector<std::string> const& secrets) {
  if (secrets.empty()) return;
  std::string text = "muster launch: the upload contains " + secrets.front();
  if (secrets.size() > 1) text += " and " + counted(secrets.size() - 1, "more file");
  std::cerr << text
            << ", readable only by you and probably secret; ranks can read the upload. To exclude "
               "files, list them in .musterignore\n";
}

std::string sha256_of(std::string const& bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<unsigned char const*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return absl::BytesToHexString(digest);
}

}  // namespace

code_upload::code_upload(std::string const& directory) {
  screen line(false);
  auto next = std::chrono::steady_clock::time_point();
  auto const told = [&](packed_tree const& now) {
    auto const at = std::chrono::steady_clock::now();
    if (!line.drawing() || at < next) return;
    next = at + drawn_every;
    line.draw("packing " + directory + ": " + std::to_string(now.files) +
              (now.files == 1 ? " file, " : " files, ") + format_size(now.file_bytes));
  };
  std::vector<std::string> secrets;
  try {
    auto made = pack(directory, {}, told);
    bytes_ = std::move(made.bytes);
    secrets = std::move(made.secrets);
  } catch (pack_error const& e) {
    throw command_error(exit_usage, "--upload " + directory + ": " + e.what());
  }
  hash_ = sha256_of(bytes_);
  line.above([&] { warn_of(secrets); });
}

void code_upload::put(rest& server) const {
  screen line(false);
  if (line.drawing()) line.draw("uploading " + format_size(bytes_.size()));
  auto const answer = server.put("/api/v1/blobs/" + hash_, bytes_, {}, put_limit);
  if (!answer.ok()) throw rest::problem(answer);
}

json::value code_upload::submit(rest& server, std::string const& body, bool once) const {
  auto const post = [&] {
    return once ? server.post_once("/api/v1/programs", body)
                : server.post("/api/v1/programs", body);
  };
  try {
    return post();
  } catch (request_error const& e) {
    if (e.end().field != "upload" || e.end().status != 422) throw;
  }
  put(server);
  return post();
}

}  // namespace muster::cli
