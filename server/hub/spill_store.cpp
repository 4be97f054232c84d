#include "server/hub/spill_store.hpp"

#include <boost/crc.hpp>

namespace muster::server {

namespace {

constexpr auto lock = "muster-values-lock";

std::string segment_name(std::uint64_t number) {
  return std::string(value_files) + std::to_string(number);
}

std::uint32_t checksum_of(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

}  // namespace

spill_store::spill_store()
    : files_(
          {.what = "values",
           .is_own =
               [](std::string_view name) { return name.starts_with(value_files) && name != lock; },
           .lock = lock}) {}

muster::status spill_store::start(std::filesystem::path directory, answer_handler on_answer) {
  if (auto const opened = files_.open(std::move(directory)); !opened.ok())
    return {muster::code::failed_precondition, opened.message};
  on_answer_ = std::move(on_answer);
  files_.clear();  // removes the files of a killed server
  thread_.start([this](std::vector<core::value_move> moves) { perform(moves); });
  return {};
}

void spill_store::stop() {
  if (!thread_.stop(false)) return;
  files_.clear();
  files_.close();
}

void spill_store::perform(std::span<core::value_move> moves) {
  while (!moves.empty()) {
    std::size_t n = 1;
    core::values_moved done;
    if (moves[0].kind == core::move_kind::write) {
      auto bytes = moves[0].value.size();
      while (n < moves.size() && moves[n].kind == core::move_kind::write &&
             bytes + moves[n].value.size() <= segment_bytes)
        bytes += moves[n++].value.size();
      done = write(moves.first(n));
      for (auto& m : moves.first(n)) m.value = {};
    } else if (moves[0].kind == core::move_kind::read) {
      done.moves.push_back(read(moves[0].closure));
    } else {
      forget(moves[0].closure);
    }
    if (!done.moves.empty()) on_answer_(std::move(done));
    moves = moves.subspan(n);
  }
}

core::values_moved spill_store::write(std::span<core::value_move const> moves) {
  int const error = write_segment(moves);
  std::string failed;
  if (error != 0)
    failed = "values cannot be written to --spill-dir " + files_.directory().string() + ": " +
             reason_of(error);
  core::values_moved done;
  std::uint64_t offset = 0;
  for (auto const& m : moves) {
    done.moves.push_back({core::move_kind::write, m.closure, error == 0, {}, failed});
    if (error != 0) continue;
    auto const size = static_cast<std::uint32_t>(m.value.size());
    places_[m.closure] = {last_segment_, offset, size, checksum_of(m.value.view()),
                          m.value.encoding()};
    offset += size;
  }
  if (error == 0) live_[last_segment_] = static_cast<std::uint32_t>(moves.size());
  return done;
}

/// Returns 0, or an errno value if the segment could not be written.
int spill_store::write_segment(std::span<core::value_move const> moves) {
  auto const name = segment_name(++last_segment_);
  auto out = files_.begin(name + ".tmp");
  if (!out.file) return errno;
  for (auto const& m : moves)
    if (int const e = out.file.write(m.value.view()); e != 0) return e;
  return files_.keep(out, name);
}

core::value_moved spill_store::read(core::closure_id id) const {
  core::value_moved m{core::move_kind::read, id, false, {}, {}};
  auto const it = places_.find(id);
  if (it == places_.end()) {
    m.error = "it is not in --spill-dir " + files_.directory().string();
    return m;
  }
  auto const& p = it->second;
  auto const name = segment_name(p.segment);
  std::string bytes(p.size, '\0');
  if (int const e = files_.read(name, p.offset, bytes); e != 0) {
    m.error = files_.path_of(name).string() + " cannot be read: " + reason_of(e);
  } else if (checksum_of(bytes) != p.checksum) {
    m.error = files_.path_of(name).string() + " is damaged: the checksum of a value does not match";
  } else {
    m.ok = true;
    m.value = core::blob(bytes, p.encoding);
  }
  return m;
}

void spill_store::forget(core::closure_id id) {
  auto const node = places_.extract(id);
  if (!node) return;
  auto const segment = live_.find(node.mapped().segment);
  if (--segment->second > 0) return;
  files_.remove(segment_name(segment->first));
  live_.erase(segment);
}

}  // namespace muster::server
