#include "server/journal/copy.hpp"

#include <sys/stat.h>

#include "server/disk/open_file.hpp"
#include "server/disk/private_directory.hpp"
#include "server/journal/entries.hpp"
#include "server/journal/rocks.hpp"
#include "server/journal/rocks_store.hpp"

namespace muster::server::journal {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t batch_bytes = std::size_t{4} << 20;

fs::path plain(fs::path const& path) {
  auto const whole = fs::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

muster::status target_can_be_made(fs::path const& from, fs::path const& to) {
  std::error_code error;
  auto const there = fs::symlink_status(plain(to), error);
  if (fs::exists(there) && !(fs::is_directory(there) && fs::is_empty(to, error)))
    return rocks::refused(to, "is not an empty directory; specify an empty or a new directory");
  struct stat own {
  }, above{};
  if (fs::exists(there) && ::stat(to.c_str(), &own) == 0 &&
      ::stat(plain(to).parent_path().c_str(), &above) == 0 && own.st_dev != above.st_dev)
    return rocks::refused(to, "is the mount point of a file system; specify a directory inside it");
  auto const source = from.empty() ? fs::path() : fs::weakly_canonical(from, error);
  for (auto p = fs::weakly_canonical(to, error); p.has_relative_path(); p = p.parent_path())
    if (p == source) return rocks::refused(to, "is inside " + from.string());
  if (fs::exists(fs::symlink_status(unfinished(to), error)))
    return rocks::refused(unfinished(to),
                          "exists: another copy is running or was interrupted; remove this "
                          "directory if no copy is running");
  return {};
}

std::uint64_t count_entries(store const& s) {
  std::uint64_t n = 0;
  auto const read = s.read({}, [&](auto, auto) { return ++n, true; });
  return read.ok() ? n : 0;
}

// Copies `from` to `partial` and verifies the copy. `judged` contains the contents of `from`. If no
// server can load `from`, `judged` is null, and only the numbers of entries are compared.
muster::result<copied> copy_to(fs::path const& partial, view const& from, contents const* judged,
                               watcher const& watch) {
  auto made = rocks_store::open(partial);
  if (!made) return made.error();
  auto done = copy_entries(from, judged ? judged->entries() : count_entries(from), **made, watch);
  made->reset();
  if (!done) return done;
  auto const copy = rocks_view::open(partial);
  if (!copy) return copy.error();
  std::uint64_t entries = 0;
  if (judged) {
    auto const found = inspect(**copy, [&](std::string_view, std::uint64_t n, std::uint64_t bytes) {
      return !watch || watch("checking the copy", n, bytes);
    });
    if (!found) return found.error();
    entries = found->entries();
  } else {
    if (auto const verified = (*copy)->verify(); !verified.ok()) return verified;
    entries = count_entries(**copy);
  }
  if (entries != done->entries)
    return muster::status{code::internal, partial.string() + ": has " + std::to_string(entries) +
                                              " entries instead of " +
                                              std::to_string(done->entries)};
  done->bytes_on_disk = (*copy)->bytes_on_disk();
  return done;
}

muster::status make_durable(fs::path const& directory) {
  int const e = sync_directory(directory);
  if (e == 0) return {};
  return disk_error(directory, e, "cannot be written to disk");
}

muster::status rename_durably(fs::path const& partial, fs::path const& to) {
  if (auto const files = make_durable(partial); !files.ok()) return files;
  std::error_code error;
  fs::rename(partial, to, error);
  if (error) return disk_error(to, error.value(), "cannot be renamed");
  return make_durable(to.parent_path());
}

// `directory` is the directory of `from`, or empty. If `judge` is set, a server must be able to
// load `from`.
muster::result<copied> copy_beside(view const& from, fs::path const& directory, fs::path const& to,
                                   bool judge, watcher const& watch) {
  if (auto const ours = format_of(from); !ours) return ours.error();
  if (auto const possible = target_can_be_made(directory, to); !possible.ok()) return possible;
  std::optional<contents> judged;
  if (judge) {
    auto found = inspect(from, watch);
    if (!found) return found.error();
    judged = std::move(*found);
  }
  auto const partial = unfinished(to);
  if (int const e = make_private_directory(partial); e != 0)
    return disk_error(partial, e, "cannot be created");
  auto done = copy_to(partial, from, judged ? &*judged : nullptr, watch);
  if (done) {
    auto const named = judged ? judged->blobs : std::map<std::string, std::string>();
    auto blobs = read_blobs(directory, named, partial, watch);
    if (blobs)
      done->blobs = std::move(*blobs);
    else
      done = blobs.error();
  }
  if (done)
    if (auto const renamed = rename_durably(partial, plain(to)); !renamed.ok()) done = renamed;
  std::error_code ignored;
  if (!done) fs::remove_all(partial, ignored);
  return done;
}

}  // namespace

fs::path unfinished(fs::path const& to) {
  return plain(to).string() + ".partial";
}

muster::result<copied> copy_entries(view const& from, std::uint64_t expected, store& into,
                                    watcher const& watch) {
  copied done;
  std::vector<change> batch;
  std::size_t bytes = 0;
  muster::status found;
  std::string format;
  auto const flush = [&] {
    found = into.write(batch);
    batch.clear();
    bytes = 0;
    if (found.ok() && watch && !watch("copying", done.entries, done.bytes))
      found = {code::cancelled, from.name() + ": interrupted after " +
                                    std::to_string(done.entries) + " of " +
                                    std::to_string(expected) + " entries"};
    return found.ok();
  };
  auto const read = from.read("", [&](std::string_view key, std::string_view value) {
    ++done.entries;
    done.bytes += key.size() + value.size();
    if (key == format_key) return format = value, true;
    batch.push_back({change::kind::put, std::string(key), std::string(value)});
    bytes += batch.back().bytes();
    return bytes < batch_bytes || flush();
  });
  if (!read.ok()) return read;
  if (!found.ok() || !flush()) return found;
  batch.push_back({change::kind::put, format_key, format});
  if (auto const last = into.write(batch); !last.ok()) return last;
  return done;
}

muster::result<copied> copy_store(fs::path const& from, fs::path const& to, watcher const& watch) {
  auto const view = rocks_view::open(from);
  if (!view) return view.error();
  return copy_beside(**view, from, to, true, watch);
}

muster::result<copied> copy_store(view const& from, fs::path const& to, watcher const& watch) {
  return copy_beside(from, {}, to, true, watch);
}

muster::result<copied> copy_unchecked(view const& from, fs::path const& directory,
                                      fs::path const& to, watcher const& watch) {
  return copy_beside(from, directory, to, false, watch);
}

muster::result<compacted> compact_store(fs::path const& directory) {
  compacted c;
  {
    auto const view = rocks_view::open(directory);
    if (!view) return view.error();
    if (auto const ours = format_of(**view); !ours) return ours.error();
    if (user_of(directory)) return rocks::refused(directory, "another process has it open");
    if (auto const found = inspect(**view); !found) return found.error();
    c.bytes_before = (*view)->bytes_on_disk();
  }
  auto opened = rocks_store::open(directory);
  if (!opened) return opened.error();
  auto const done = (*opened)->compact();
  opened->reset();
  if (!done.ok()) return done;
  auto const after = rocks_view::open(directory);
  if (!after) return after.error();
  c.bytes_after = (*after)->bytes_on_disk();
  return c;
}

}  // namespace muster::server::journal
