#include "app/access/private_directories.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>

#include "server/disk/own_files.hpp"
#include "server/disk/private_directory.hpp"

namespace muster::server {
namespace {

namespace fs = std::filesystem;

// Returns whether a directory such as /tmp can contain other users' files. Such a directory is not
// restricted; this server's files in it are private.
bool has_other_files(fs::path const& directory, bool blobs_are_ours) {
  if ((mode_of(directory) & S_ISVTX) != 0) return true;
  std::error_code error;
  fs::directory_iterator const all(directory, error);
  return error || std::any_of(begin(all), end(all), [&](auto const& entry) {
           auto const name = entry.path().filename().string();
           return !name.starts_with(value_files) && !(blobs_are_ours && name == blob_folder);
         });
}

// A symbolic link can lead to another owner's directory.
void close_blobs(fs::path const& directory) {
  std::error_code error;
  if (!fs::is_symlink(directory / blob_folder, error)) (void)make_private(directory / blob_folder);
}

}  // namespace

private_directories::private_directories(configuration const& c) {
  if (!c.data_dir.empty())
    all_.push_back({"data_dir", c.data_dir, mode_of(c.data_dir), false, true});
  if (!c.spill_dir.empty())
    all_.push_back({"spill_dir", c.spill_dir, mode_of(c.spill_dir), true, c.data_dir.empty()});
}

void private_directories::close_to_others() const {
  for (auto const& d : all_) {
    if (d.blobs) close_blobs(d.path);
    if ((d.was & others_bits) == 0 || (d.with_others && has_other_files(d.path, d.blobs))) continue;
    if (int const e = make_private(d.path); e != 0)
      spdlog::warn("open_to_others {}={} mode={:04o} why=\"{}\"", d.flag, d.path.string(),
                   static_cast<unsigned>(d.was), reason_of(e));
    else
      spdlog::info("closed_to_others {}={} mode_before={:04o}", d.flag, d.path.string(),
                   static_cast<unsigned>(d.was));
  }
}

}  // namespace muster::server
