#include "server/hub/blob_files.hpp"

#include <absl/strings/escaping.h>

#include <algorithm>

namespace muster::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view unfinished = "put-";
constexpr std::string_view private_temp_directory = "muster-blobs-";

// Converts a disk failure to UNAVAILABLE, as in the journal: the request is valid, and the disk may
// recover.
muster::status as_outage(muster::status s) {
  if (s.code == muster::code::internal) s.code = muster::code::unavailable;
  return s;
}
muster::status blob_error(fs::path const& path, int error, std::string const& what = {}) {
  return as_outage(disk_error(path, error, what));
}

own_files::habits habits(bool durable) {
  return {
      .what = "blobs",
      .is_own =
          [](std::string_view name) { return is_blob_name(name) || name.starts_with(unfinished); },
      .durable = durable};
}

// Removes the directories of killed servers; their locks are free.
void remove_left_over() {
  std::error_code error;
  for (auto const& entry : fs::directory_iterator(fs::temp_directory_path(error), error)) {
    if (!entry.path().filename().string().starts_with(private_temp_directory)) continue;
    own_files left(habits(false));
    if (!left.open(entry.path()).ok()) continue;  // owned by another user, or already removed
    left.clear();
    left.close(true);
  }
}

}  // namespace

blob_files::blob_files(blob_files_options options)
    : options_(std::move(options)), files_(habits(options_.durable)) {}

blob_files::~blob_files() {
  clear();
}

muster::result<names_and_sizes> blob_files::find() {
  names_and_sizes found;
  std::error_code error;
  if (options_.directory.empty() || !fs::exists(options_.directory, error)) return found;
  if (auto const opened = open_directory(); !opened.ok())
    return muster::status{muster::code::failed_precondition, opened.message};
  auto const all = files_.all();
  if (!all) return muster::status{muster::code::failed_precondition, all.error().message};
  for (auto const& [name, size] : *all)
    if (options_.durable && is_blob_name(name))
      found.emplace_back(blob_hash_of(name), size);
    else
      files_.remove(name);
  return found;
}

muster::status blob_files::open_directory() {
  if (files_.is_open()) return {};
  if (!options_.directory.empty()) return as_outage(files_.open(options_.directory));
  remove_left_over();
  std::error_code error;
  auto name =
      (fs::temp_directory_path(error) / (std::string(private_temp_directory) + "XXXXXX")).string();
  if (error || !::mkdtemp(name.data())) return blob_error(name, error ? error.value() : errno);
  return as_outage(files_.open(name));
}

muster::status blob_files::append(std::uint64_t number, std::string_view piece) {
  auto& u = uploads_[number];
  u.hash.add(piece);
  if (!u.out.file && u.small.size() + piece.size() <= options_.small_max) {
    u.small += piece;
    return {};
  }
  auto written = write(number, u, std::exchange(u.small, {}));
  return written.ok() ? write(number, u, piece) : written;
}

muster::status blob_files::write(std::uint64_t number, upload& u, std::string_view bytes) {
  if (!u.out.file) {
    if (auto opened = open_directory(); !opened.ok()) return opened;
    u.out = files_.begin(std::string(unfinished) + std::to_string(number));
    if (!u.out.file) return blob_error(u.out.path, errno);
  }
  int const error = u.out.file.write(bytes);
  return error == 0 ? muster::status{} : blob_error(u.out.path, error);
}

// A blob whose name is not its hash gets the prefix of unfinished files: backups skip the file, and
// the next start removes it.
std::string blob_files::file_of(std::string_view name) const {
  auto hex = blob_hex_of(name);
  return named_.contains(std::string(name)) ? std::string(unfinished) + "as-" + hex : hex;
}

muster::status blob_files::finish(std::uint64_t number, std::string_view hash,
                                  std::string_view name) {
  auto& u = uploads_[number];
  auto const is = u.hash.digest();
  muster::status said;
  if (is == hash) {
    bool const added = name != hash && named_.emplace(name).second;
    said = keep(number, u, name);
    if (added && !said.ok()) named_.erase(std::string(name));
  } else {
    said = {muster::code::invalid_argument, "the uploaded bytes have the SHA-256 " +
                                                blob_hex_of(is) + ", not " + blob_hex_of(hash)};
  }
  uploads_.erase(number);
  return said;
}

muster::status blob_files::keep(std::uint64_t number, upload& u, std::string_view name) {
  if (!u.out.file && !options_.durable && small_bytes_ + u.small.size() <= options_.memory_max) {
    auto const [at, added] = small_.try_emplace(std::string(name), std::move(u.small));
    if (added) small_bytes_ += at->second.size();
    return {};
  }
  if (!u.out.file)
    if (auto written = write(number, u, u.small); !written.ok()) return written;
  int const error = files_.keep(u.out, file_of(name));
  return error == 0 ? muster::status{} : blob_error(u.out.path, error);
}

muster::result<std::string> blob_files::read(std::string_view hash, std::uint64_t offset,
                                             std::size_t bytes) const {
  if (auto const it = small_.find(std::string(hash)); it != small_.end())
    return it->second.substr(std::min<std::size_t>(offset, it->second.size()), bytes);
  auto const name = file_of(hash);
  std::string made(bytes, '\0');
  int const error = files_.is_open() ? files_.read(name, offset, made) : ENOENT;
  if (error == ENOENT) return no_such_blob(hash);
  if (error != 0) {
    std::error_code unknown;
    auto const size = fs::file_size(files_.path_of(name), unknown);
    bool const is_damaged = !unknown && size < offset + bytes;
    auto why = disk_error(files_.path_of(name), error, "cannot be read");
    return is_damaged ? why : as_outage(std::move(why));
  }
  return made;
}

void blob_files::remove(std::string_view hash) {
  if (auto const it = small_.find(std::string(hash)); it != small_.end()) {
    small_bytes_ -= it->second.size();
    small_.erase(it);
  }
  if (files_.is_open()) files_.remove(file_of(hash));
  named_.erase(std::string(hash));
}

void blob_files::clear() {
  uploads_.clear();
  if (!options_.durable) small_.clear();
  if (!files_.is_open()) return;
  if (!options_.durable) files_.clear();
  files_.close(!options_.durable);
}

std::string blob_hash_of(std::string_view hex) {
  if (!is_blob_name(hex)) return {};
  return absl::HexStringToBytes({hex.data(), hex.size()});
}

muster::status no_such_blob(std::string_view hash) {
  return {muster::code::not_found, "there is no blob " + blob_hex_of(hash)};
}

}  // namespace muster::server
