#include "base/archive/pack.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "base/archive/ignore_rules.hpp"
#include "base/bounded_file.hpp"
#include "base/process/file_descriptor.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

// Earliest time that zip files and their derivatives can represent.
constexpr time_t time_of_all = 315'532'800;  // 1980-01-01
constexpr std::size_t named_max = 5;
constexpr std::size_t piece_bytes = std::size_t{256} << 10;

struct item {
  std::string path;
  fs::file_type type{};
  std::uint64_t size = 0;
  bool executable = false;
  bool is_private = false;  // readable only by its owner
  std::string target{};
};

bool is_probably_secret(item const& i) {
  auto const extension = fs::path(i.path).extension();
  return i.is_private && (extension == ".key" || extension == ".pem" || extension == ".token");
}

class lister {
 public:
  lister(fs::path const& root, tree_limits const& limits)
      : root_(fs::canonical(root)),
        limits_(limits),
        rules_of_(fs::exists(root_ / ".musterignore") ? ".musterignore" : ".gitignore") {}

  std::vector<item> list() {
    walk({});
    if (bytes_ > limits_.bytes_max) throw too_large();
    return std::move(items_);
  }

 private:
  void walk(std::string const& directory) {
    auto const known = rules_.size();
    if (auto const at = root_ / directory / rules_of_; fs::exists(at)) {
      auto const text = read_bounded_file(at.string());
      if (!text) throw pack_error("'" + at.string() + "' cannot be read: " + text.error().message);
      rules_.add(directory, *text);
    }
    std::vector<std::string> names;
    for (auto const& entry : fs::directory_iterator(root_ / directory))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    for (auto const& name : names)
      if (name != ".git") look(directory.empty() ? name : directory + "/" + name);
    rules_.shrink(known);
  }

  void look(std::string const& path) {
    auto const at = root_ / path;
    item i{.path = path, .type = fs::symlink_status(at).type()};
    bool const directory = i.type == fs::file_type::directory;
    if (rules_.ignore(path, directory)) return;
    if (i.type == fs::file_type::symlink)
      i.target = inner_target(path, at);
    else if (i.type == fs::file_type::regular)
      measure(i, at);
    else if (!directory)
      return;
    if (items_.size() == limits_.entries_max)
      throw pack_error("the directory contains more than " + std::to_string(limits_.entries_max) +
                       " files and directories; list those to exclude in .musterignore");
    items_.push_back(std::move(i));
    if (directory) walk(path);
  }

  void measure(item& i, fs::path const& at) {
    struct stat about {};
    if (::stat(at.c_str(), &about) != 0)
      throw fs::filesystem_error("stat", at, std::error_code(errno, std::generic_category()));
    i.size = static_cast<std::uint64_t>(about.st_size);
    i.executable = (about.st_mode & S_IXUSR) != 0;
    i.is_private = (about.st_mode & (S_IRGRP | S_IROTH)) == 0;
    bytes_ += i.size;
  }

  std::string inner_target(std::string const& path, fs::path const& at) const {
    auto const target = fs::read_symlink(at);
    auto const to = fs::weakly_canonical(at.parent_path() / target);
    auto const within = to.lexically_relative(root_);
    auto const by_name = (fs::path(path).parent_path() / target).lexically_normal();
    if (target.is_absolute() || within.empty() || *within.begin() == ".." ||
        (!by_name.empty() && *by_name.begin() == ".."))
      throw pack_error("'" + path + "' is a symbolic link to '" + target.string() +
                       "', which is outside the directory; exclude it in .musterignore");
    return target.string();
  }

  pack_error too_large() {
    std::erase_if(items_, [](item const& i) { return i.type != fs::file_type::regular; });
    auto const shown = std::min(items_.size(), named_max);
    std::partial_sort(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(shown),
                      items_.end(), [](item const& a, item const& b) { return a.size > b.size; });
    auto text = format_size(bytes_) + " of files exceeds the limit of " +
                format_size(limits_.bytes_max) +
                "; list files to exclude in .musterignore. The largest files:";
    for (std::size_t i = 0; i < shown; ++i)
      text += "\n  " + format_size(items_[i].size) + "  " + items_[i].path;
    return pack_error(text);
  }

  fs::path const root_;
  tree_limits const& limits_;
  std::string const rules_of_;
  ignore_rules rules_;
  std::vector<item> items_;
  std::uint64_t bytes_ = 0;
};

class writer {
 public:
  writer(fs::path const& root, packed_tree& to) : root_(root), to_(to) {
    // GNU tar stores names as raw bytes.
    check(archive_write_set_format_gnutar(a_.get()));
    check(archive_write_add_filter_gzip(a_.get()));
    check(archive_write_set_filter_option(a_.get(), "gzip", "timestamp", nullptr));
    check(archive_write_set_bytes_in_last_block(a_.get(), 1));
    check(archive_write_open(a_.get(), &to_, nullptr, &writer::take, nullptr));
  }

  void add(item const& i) {
    archive_entry_clear(entry_.get());
    auto* const e = entry_.get();
    archive_entry_set_pathname(e, i.path.c_str());
    archive_entry_set_mtime(e, time_of_all, 0);
    bool const file = i.type == fs::file_type::regular;
    archive_entry_set_perm(e, file && !i.executable ? 0644 : 0755);
    archive_entry_set_size(e, static_cast<la_int64_t>(i.size));
    if (file) archive_entry_set_filetype(e, AE_IFREG);
    if (i.type == fs::file_type::directory) archive_entry_set_filetype(e, AE_IFDIR);
    if (i.type == fs::file_type::symlink) {
      archive_entry_set_filetype(e, AE_IFLNK);
      archive_entry_set_symlink(e, i.target.c_str());
    }
    check(archive_write_header(a_.get(), e));
    if (file) add_content(i);
    to_.files += file;
    to_.file_bytes += i.size;
  }

  void finish() { check(archive_write_close(a_.get())); }

 private:
  void add_content(item const& i) {
    auto const path = root_ / i.path;
    file_descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file)
      throw fs::filesystem_error("cannot be read", path,
                                 std::error_code(errno, std::generic_category()));
    std::uint64_t got = 0;
    for (;;) {
      auto const n = ::read(file.get(), buffer_.data(), buffer_.size());
      if (n < 0)
        throw fs::filesystem_error("cannot be read", path,
                                   std::error_code(errno, std::generic_category()));
      got += static_cast<std::uint64_t>(n);
      if (got > i.size || (n == 0 && got < i.size))
        throw pack_error("'" + i.path + "' changed while it was being packed; try again");
      if (n == 0) return;
      if (archive_write_data(a_.get(), buffer_.data(), static_cast<std::size_t>(n)) != n)
        check(ARCHIVE_FATAL);
    }
  }

  void check(int said) const {
    if (said < ARCHIVE_WARN)
      throw pack_error(std::string("the archive cannot be created: ") +
                       archive_error_string(a_.get()));
  }

  static la_ssize_t take(archive*, void* to, void const* bytes, std::size_t n) {
    static_cast<packed_tree*>(to)->bytes.append(static_cast<char const*>(bytes), n);
    return static_cast<la_ssize_t>(n);
  }

  fs::path const& root_;
  packed_tree& to_;
  std::unique_ptr<archive, decltype(&archive_write_free)> const a_{archive_write_new(),
                                                                   archive_write_free};
  std::unique_ptr<archive_entry, decltype(&archive_entry_free)> const entry_{archive_entry_new(),
                                                                             archive_entry_free};
  std::vector<char> buffer_ = std::vector<char>(piece_bytes);
};

}  // namespace

std::string format_size(std::uint64_t bytes) {
  bool const small = bytes < std::uint64_t{1} << 20;
  auto const tenths = bytes * 10 >> (small ? 10 : 20);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
         (small ? " KiB" : " MiB");
}

packed_tree pack(fs::path const& directory, tree_limits const& limits,
                 std::function<void(packed_tree const&)> const& progress) {
  try {
    if (!fs::is_directory(directory))
      throw pack_error("'" + directory.string() + "' is not a directory");
    packed_tree made;
    writer to(directory, made);
    for (auto const& i : lister(directory, limits).list()) {
      to.add(i);
      if (is_probably_secret(i)) made.secrets.push_back(i.path);
      if (progress) progress(made);
    }
    to.finish();
    return made;
  } catch (fs::filesystem_error const& e) {
    throw pack_error("'" + e.path1().string() + "' cannot be read: " + e.code().message());
  }
}

}  // namespace muster
