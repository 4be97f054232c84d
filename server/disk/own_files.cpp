#include "server/disk/own_files.hpp"

#include <sys/file.h>

#include <cstdio>

#include "server/disk/private_directory.hpp"

namespace muster::server {

namespace fs = std::filesystem;

muster::result<names_and_sizes> files_in(fs::path const& directory,
                                         bool (*is_own)(std::string_view name)) {
  names_and_sizes found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error); !error && it != end(it); it.increment(error)) {
    auto name = it->path().filename().string();
    std::error_code no_file;  // set for directories and for files deleted in the meantime
    auto const size = is_own(name) ? it->file_size(no_file) : 0;
    if (is_own(name) && !no_file) found.emplace_back(std::move(name), size);
  }
  if (error) return disk_error(directory, error.value(), "cannot be read");
  return found;
}

muster::status own_files::open(fs::path directory) {
  if (int const e = make_private_directory(directory); e != 0)
    return disk_error(directory, e, "cannot be created");
  if (int const e = habits_.durable ? sync_directory(directory.parent_path()) : 0; e != 0)
    return disk_error(directory, e);
  bool const itself = habits_.lock == ".";
  open_file lock(directory / habits_.lock, itself ? O_RDONLY | O_DIRECTORY : O_RDWR | O_CREAT);
  if (!lock) return disk_error(directory, errno, itself ? "cannot be read" : "cannot be written");
  if (::flock(lock.fd(), LOCK_EX | LOCK_NB) != 0)
    return {code::internal, directory.string() + ": another server stores its " +
                                std::string(habits_.what) +
                                " there; use a separate directory for each server"};
  lock_ = std::move(lock);
  directory_ = std::move(directory);
  return {};
}

int own_files::keep(unfinished& u, std::string_view name) const {
  if (int const e = habits_.durable ? u.file.sync() : 0; e != 0) return e;
  int error = u.file.close();
  if (error == 0 && ::rename(u.path.c_str(), path_of(name).c_str()) != 0) error = errno;
  if (error != 0) ::unlink(u.path.c_str());
  return error == 0 && habits_.durable ? sync_directory(directory_) : error;
}

int own_files::read(std::string_view name, std::uint64_t offset, std::string& into) const {
  open_file const file(path_of(name), O_RDONLY);
  auto const got = file ? file.read(offset, into.data(), into.size()) : -1;
  if (got < 0) return errno;
  return static_cast<std::size_t>(got) < into.size() ? EIO : 0;
}

void own_files::clear() const {
  if (auto const files = all())
    for (auto const& [name, size] : *files) remove(name);
}

void own_files::close(bool and_remove) {
  if (and_remove) ::rmdir(directory_.c_str());
  lock_.close();
  directory_.clear();
}

}  // namespace muster::server
