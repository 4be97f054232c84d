// One thread that writes, reads and deletes the files of values, and what is asked of it.
#include "server/hub/spill_store.hpp"

#include <sys/file.h>

#include <boost/crc.hpp>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "server/disk/private_directory.hpp"

namespace muster::server {

namespace {

constexpr std::string_view prefix = "muster-values-";

std::string reason(int error) {
  return std::generic_category().message(error);
}

std::uint32_t checksum_of(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

muster::status wrong(std::filesystem::path const& directory, std::string const& why) {
  return {muster::code::failed_precondition, directory.string() + ": " + why};
}

}  // namespace

muster::status spill_store::start(std::filesystem::path directory, answer_handler on_answer) {
  if (int const e = make_private_directory(directory); e != 0)
    return wrong(directory, "cannot be made: " + reason(e));
  auto const lock = directory / (std::string(prefix) + "lock");
  lock_ = open_file(lock, O_RDWR | O_CREAT);
  if (!lock_) return wrong(directory, "cannot be written: " + reason(errno));
  if (::flock(lock_.fd(), LOCK_EX | LOCK_NB) != 0) {
    lock_.close();
    return wrong(directory, "another server keeps its values there: give each its own");
  }
  directory_ = std::move(directory);
  on_answer_ = std::move(on_answer);
  remove_files();
  running_ = true;  // nobody else knows of this yet
  thread_ = std::thread([this] { run(); });
  return {};
}

void spill_store::ask(std::vector<core::value_move> moves) {
  {
    std::lock_guard const hold(mutex_);
    if (!running_) return;
    if (queue_.empty())
      queue_ = std::move(moves);
    else
      std::move(moves.begin(), moves.end(), std::back_inserter(queue_));
  }
  asked_.notify_one();
}

void spill_store::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard const hold(mutex_);
    running_ = false;
  }
  asked_.notify_one();
  thread_.join();
  remove_files();
  lock_.close();
}

void spill_store::run() {
  while (true) {
    std::vector<core::value_move> moves;
    {
      std::unique_lock hold(mutex_);
      asked_.wait(hold, [this] { return !running_ || !queue_.empty(); });
      if (!running_) return;
      moves = std::exchange(queue_, {});
    }
    perform(std::move(moves));
  }
}

void spill_store::perform(std::vector<core::value_move> moves) {
  auto const answer = [this] {
    if (!answers_.moves.empty()) on_answer_(std::exchange(answers_, {}));
  };
  for (std::size_t i = 0; i < moves.size();) {
    if (moves[i].kind == core::move_kind::write) {
      std::size_t end = i, bytes = 0;
      while (end < moves.size() && moves[end].kind == core::move_kind::write &&
             (end == i || bytes + moves[end].value.size() <= segment_bytes))
        bytes += moves[end++].value.size();
      write(moves, i, end);
      for (; i < end; ++i) moves[i].value = {};
      answer();
      continue;
    }
    if (moves[i].kind == core::move_kind::read) {
      answers_.moves.push_back(read(moves[i].closure));
      answer();
    } else {
      forget(moves[i].closure);
    }
    ++i;
  }
}

void spill_store::write(std::vector<core::value_move> const& moves, std::size_t from,
                        std::size_t to) {
  auto const failed = write_segment(moves, from, to);
  std::uint64_t offset = 0;
  for (auto i = from; i < to; ++i) {
    auto const& m = moves[i];
    answers_.moves.push_back({core::move_kind::write, m.closure, failed.empty(), {}, failed});
    if (!failed.empty()) continue;
    auto const size = static_cast<std::uint32_t>(m.value.size());
    places_[m.closure] = {last_segment_, offset, size, checksum_of(m.value.view()),
                          m.value.encoding()};
    offset += size;
  }
  if (failed.empty()) live_[last_segment_] = static_cast<std::uint32_t>(to - from);
}

/// Empty, or what went wrong; then there is no such segment.
std::string spill_store::write_segment(std::vector<core::value_move> const& moves, std::size_t from,
                                       std::size_t to) {
  auto const path = file_of(++last_segment_);
  auto const unfinished = std::filesystem::path(path.string() + ".tmp");
  int error = 0;
  {
    open_file out(unfinished, O_WRONLY | O_CREAT | O_TRUNC);
    if (!out) error = errno;
    for (auto i = from; error == 0 && i < to; ++i) error = out.write(moves[i].value.view());
    if (error == 0) error = out.close();
  }
  if (error == 0 && ::rename(unfinished.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(unfinished.c_str());
  return "values cannot be written to --spill-dir " + directory_.string() + ": " + reason(error);
}

core::value_moved spill_store::read(core::closure_id id) const {
  core::value_moved m{core::move_kind::read, id, false, {}, {}};
  auto const it = places_.find(id);
  if (it == places_.end()) {
    m.error = "it is not in --spill-dir " + directory_.string();
    return m;
  }
  auto const& p = it->second;
  auto const path = file_of(p.segment);
  open_file const in(path, O_RDONLY);
  std::string bytes(p.size, '\0');
  auto const got = in ? in.read(p.offset, bytes.data(), bytes.size()) : -1;
  if (got < std::int64_t{p.size}) {
    m.error = path.string() + " cannot be read: " + reason(got < 0 ? errno : EIO);  // cut short
  } else if (checksum_of(bytes) != p.checksum) {
    m.error = path.string() + " was changed: the checksum of a value does not match";
  } else {
    m.ok = true;
    m.value = core::blob(bytes, p.encoding);
  }
  return m;
}

void spill_store::forget(core::closure_id id) {
  auto const node = places_.extract(id);
  if (!node) return;  // its write failed
  auto const segment = live_.find(node.mapped().segment);
  if (--segment->second > 0) return;
  ::unlink(file_of(segment->first).c_str());
  live_.erase(segment);
}

std::filesystem::path spill_store::file_of(std::uint64_t segment) const {
  return directory_ / (std::string(prefix) + std::to_string(segment));
}

void spill_store::remove_files() const {
  std::error_code ignored;  // what cannot be removed is overwritten
  for (auto const& entry : std::filesystem::directory_iterator(directory_, ignored)) {
    auto const name = entry.path().filename().string();
    if (name.starts_with(prefix) && name != std::string(prefix) + "lock")
      std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace muster::server
