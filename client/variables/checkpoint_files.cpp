#include "client/variables/checkpoint_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

namespace muster::detail {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::int64_t format = 1;
// Encoding of JSON states; pickled states have no encoding.
constexpr std::string_view in_json = "json";
constexpr std::string_view prefix = "checkpoint-", suffix = ".tmp";

[[noreturn]] void fail(fs::path const& at) {
  throw std::system_error(errno, std::generic_category(), at.string());
}

void sync(fs::path const& folder) {
  int const fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail(folder);
  int const result = ::fsync(fd);
  ::close(fd);
  if (result != 0) fail(folder);
}

fs::path folder_of(fs::path const& path, std::uint64_t number) {
  return path / (std::string(prefix) + std::to_string(number));
}
fs::path unfinished_of(fs::path const& path, std::uint64_t number) {
  return folder_of(path, number).string() + std::string(suffix);
}

json::array list_of(shape const& of) {
  json::array made;
  for (auto const n : of) made.push_back(static_cast<std::int64_t>(n));
  return made;
}

shape shape_of(json::value const& list) {
  return json::value_to<shape>(list);
}

// Removes a trailing slash, so that parent_path() is the directory above.
fs::path named(fs::path path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

std::vector<std::uint64_t> checkpoints_in(fs::path const& path, bool unfinished) {
  std::vector<std::uint64_t> found;
  // An unreadable directory is an error: treating it as empty would restart training from scratch.
  std::error_code error;
  fs::directory_iterator const all(path, error);
  if (error && error != std::errc::no_such_file_or_directory)
    throw fs::filesystem_error("the checkpoints cannot be listed", path, error);
  for (auto const& entry : all) {
    std::string name = entry.path().filename();
    bool const is_unfinished = name.ends_with(suffix);
    if (is_unfinished) name.resize(name.size() - suffix.size());
    if (is_unfinished != unfinished || !name.starts_with(prefix)) continue;
    std::uint64_t n = 0;
    auto const* end = name.data() + name.size();
    auto const read = std::from_chars(name.data() + prefix.size(), end, n);
    if (read.ec == std::errc() && read.ptr == end) found.push_back(n);
  }
  std::sort(found.begin(), found.end());
  return found;
}

checkpoint_writer::checkpoint_writer(fs::path path) : path_(named(fs::absolute(std::move(path)))) {
  if (!fs::is_directory(path_)) {
    fs::create_directories(path_);
    sync(path_.parent_path());
  }
  for (bool const unfinished : {false, true})
    for (auto const n : checkpoints_in(path_, unfinished)) number_ = std::max(number_, n);
  folder_ = unfinished_of(path_, ++number_);
  if (!fs::create_directory(folder_))
    throw std::system_error(EEXIST, std::generic_category(), folder_.string());
  data_ = ::open((folder_ / "data").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (data_ < 0) fail(folder_ / "data");
}

checkpoint_writer::~checkpoint_writer() {
  if (data_ >= 0) ::close(data_);
  std::error_code none;
  if (!folder_.empty()) fs::remove_all(folder_, none);
}

void checkpoint_writer::write(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto const n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(folder_);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void checkpoint_writer::variable(std::string const& name, shape const& of,
                                 std::string const& dtype) {
  variables_[name] =
      json::object{{"shape", list_of(of)}, {"dtype", dtype}, {"parts", json::array()}};
}

json::object checkpoint_writer::put(std::string_view bytes) {
  write(data_, bytes);
  hash_.add(bytes);
  auto const at = std::exchange(at_, at_ + bytes.size());
  return {{"offset", static_cast<std::int64_t>(at)},
          {"bytes", static_cast<std::int64_t>(bytes.size())}};
}

void checkpoint_writer::rows(std::string const& name, std::uint64_t begin,
                             std::vector<saved_array> const& saved, std::int64_t version) {
  json::array kept;
  for (auto const& [slot, of] : saved) {
    auto place = put(of.data);
    place["slot"] = slot;
    place["shape"] = list_of(of.shape);
    place["dtype"] = of.dtype;
    kept.push_back(std::move(place));
  }
  variables_.at(name).at("parts").as_array().push_back(
      json::object{{"begin", static_cast<std::int64_t>(begin)},
                   {"arrays", std::move(kept)},
                   {"version", version}});
}

void checkpoint_writer::object(std::string const& name, std::string_view state) {
  auto place = put(state);
  place["encoding"] = in_json;
  objects_[name] = std::move(place);
}

std::uint64_t checkpoint_writer::finish() {
  if (::fsync(data_) != 0) fail(folder_);
  json::object manifest{{"format", format},
                        {"bytes", static_cast<std::int64_t>(at_)},
                        {"sha256", hash_.digits()},
                        {"variables", variables_},
                        {"objects", objects_}};
  manifest["manifest_sha256"] = sha256_of(python_json(manifest));
  auto const file = folder_ / "manifest.json";
  int const fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) fail(file);
  try {
    write(fd, python_json(manifest));
    if (::fsync(fd) != 0) fail(file);
  } catch (...) {
    ::close(fd);
    throw;
  }
  ::close(fd);
  sync(folder_);
  fs::rename(folder_, folder_of(path_, number_));
  folder_.clear();
  sync(path_);
  return number_;
}

void tidy_checkpoints(fs::path const& path, std::uint64_t newest,
                      std::optional<std::uint32_t> keep) {
  auto const whole = checkpoints_in(path);
  for (std::size_t i = 0; keep && i + *keep < whole.size();
       ++i)  // renaming prevents use of a partly removed checkpoint
    fs::rename(folder_of(path, whole[i]), unfinished_of(path, whole[i]));
  std::error_code none;
  for (auto const n : checkpoints_in(path, true))
    if (n < newest) fs::remove_all(unfinished_of(path, n), none);
}

checkpoint_reader::checkpoint_reader(fs::path const& path, std::uint64_t number)
    : number_(number), folder_(folder_of(path, number)) {
  std::ifstream file(folder_ + "/manifest.json", std::ios::binary);
  if (!file) throw torn(folder_ + " has no manifest.json");
  std::string const text((std::istreambuf_iterator<char>(file)), {});
  boost::system::error_code bad;
  auto parsed = json::parse(text, bad);
  auto* const manifest = bad ? nullptr : parsed.if_object();
  auto const* said = manifest ? manifest->if_contains("manifest_sha256") : nullptr;
  if (!said || !said->is_string()) throw torn(folder_ + "/manifest.json is truncated");
  std::string const digest(said->as_string());
  manifest->erase("manifest_sha256");
  if (digest != sha256_of(python_json(*manifest)))
    throw torn(folder_ + "/manifest.json was changed after it was written");
  if (auto const of = manifest->at("format").to_number<std::int64_t>(); of != format)
    throw torn(folder_ + " has format " + std::to_string(of) + ", but this version reads format " +
               std::to_string(format));
  variables_ = manifest->at("variables").as_object();
  objects_ = manifest->at("objects").as_object();
  data_.open(folder_ + "/data", std::ios::binary);
  if (!data_) throw torn(folder_ + " has no data file");
  sha256 hash;
  std::uint64_t size = 0;
  std::string piece(std::size_t{1} << 20, '\0');
  while (data_) {
    data_.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    auto const n = static_cast<std::size_t>(data_.gcount());
    hash.add(std::string_view(piece).substr(0, n));
    size += n;
  }
  data_.clear();
  auto const wanted = manifest->at("bytes").to_number<std::uint64_t>();
  if (size != wanted || hash.digits() != manifest->at("sha256").as_string())
    throw torn(folder_ + "/data was changed after it was written: " + std::to_string(size) +
               " bytes instead of " + std::to_string(wanted));
}

json::object const& checkpoint_reader::variable(std::string const& name) const {
  return variables_.at(name).as_object();
}

void checkpoint_reader::check(std::string const& name, shape const& of,
                              std::string const& dtype) const {
  auto const* v = variables_.if_contains(name);
  if (!v)
    throw std::invalid_argument("checkpoint " + std::to_string(number_) + " has no variable '" +
                                name + "'");
  auto const has = shape_of(v->at("shape"));
  auto const* type = v->at("dtype").as_string().c_str();
  if (has != of || type != dtype)
    throw std::invalid_argument("the variable '" + name + "' has " + shown(of) + " " + dtype +
                                ", but in checkpoint " + std::to_string(number_) + " it has " +
                                shown(has) + " " + type);
}

void checkpoint_reader::check_object(std::string const& name) const {
  auto const in = "checkpoint " + std::to_string(number_);
  auto const* place = objects_.if_contains(name);
  if (!place) throw std::invalid_argument(in + " has no object '" + name + "'");
  auto const* encoding = place->as_object().if_contains("encoding");
  if (!encoding || !encoding->is_string() || encoding->get_string() != in_json)
    throw std::invalid_argument(
        "the state of '" + name + "' in " + in +
        " is a pickle, because JSON cannot represent it; only Python can read it");
}

std::string checkpoint_reader::object(std::string const& name) {
  auto const& place = objects_.at(name);
  return data_at(place.at("offset").to_number<std::uint64_t>(),
                 place.at("bytes").to_number<std::uint64_t>());
}

std::size_t checkpoint_reader::arrays_of(std::string const& name) const {
  std::size_t most = 1;
  for (auto const& p : variable(name).at("parts").as_array())
    most = std::max(most, p.at("arrays").as_array().size());
  return most;
}

std::string checkpoint_reader::data_at(std::uint64_t at, std::uint64_t size) {
  std::string bytes(size, '\0');
  data_.seekg(static_cast<std::streamoff>(at));
  if (!data_.read(bytes.data(), static_cast<std::streamsize>(size)) && size > 0)
    throw torn(folder_ + "/data has changed");
  data_.clear();
  return bytes;
}

std::pair<std::vector<checkpoint_reader::part>, std::int64_t> checkpoint_reader::rows(
    std::string const& name, std::uint64_t begin, std::uint64_t end) {
  auto const& v = variable(name);
  auto of = shape_of(v.at("shape"));
  bool const whole = of.empty();
  if (!whole) of[0] = end - begin;
  std::vector<part> found;
  std::int64_t version = 0;
  auto const slot_of = [&](json::value const& kept, shape const& shape) -> part& {
    std::string const slot(kept.at("slot").as_string());
    for (auto& p : found)
      if (p.slot == slot) return p;
    std::string const dtype(kept.at("dtype").as_string());
    std::uint64_t n = item_bytes(dtype);
    for (auto const d : shape) n *= d;
    return found.emplace_back(part{slot, dtype, shape, std::string(n, '\0')});
  };
  for (auto const& p : v.at("parts").as_array()) {
    auto const& arrays = p.at("arrays").as_array();
    auto const own = shape_of(arrays.at(0).at("shape"));
    auto const first = p.at("begin").to_number<std::uint64_t>();
    auto const low = std::max(begin, first), high = std::min(end, first + (whole ? 1 : own.at(0)));
    if (!whole && low >= high) continue;
    version = std::max(version, p.at("version").to_number<std::int64_t>());
    for (auto const& kept : arrays) {
      auto const shape = shape_of(kept.at("shape"));
      auto const at = kept.at("offset").to_number<std::uint64_t>();
      auto const size = kept.at("bytes").to_number<std::uint64_t>();
      if (shape != own || whole) {
        slot_of(kept, shape).data = data_at(at, size);
        continue;
      }
      auto const row = size / std::max<std::uint64_t>(1, own[0]);
      auto const bytes = data_at(at + (low - first) * row, (high - low) * row);
      slot_of(kept, of).data.replace((low - begin) * row, bytes.size(), bytes);
    }
  }
  if (found.empty()) {  // the variable has no rows
    std::string const dtype(v.at("dtype").as_string());
    found.push_back({"", dtype, of, {}});
  }
  return {std::move(found), version};
}

found_checkpoint newest_checkpoint(fs::path const& path) {
  for (;;) {
    found_checkpoint found;
    auto const there = checkpoints_in(path);
    for (auto n = there.rbegin(); n != there.rend(); ++n) {
      try {
        found.newest = std::make_unique<checkpoint_reader>(path, *n);
        return found;
      } catch (checkpoint_reader::torn const& e) {
        found.wrong.push_back(e.what());
      }
    }
    // Otherwise, the writing program has created newer checkpoints and removed the checkpoints
    // listed here.
    if (checkpoints_in(path) == there) return found;
  }
}

}  // namespace muster::detail
