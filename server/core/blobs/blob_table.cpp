// A blob is in one of the two queues if and only if it is stored and neither held nor pinned.
#include "server/core/blobs/blob_table.hpp"

namespace muster::core {

namespace {
std::string words(std::uint64_t bytes) {
  return std::to_string(bytes) + " bytes";
}
}  // namespace

muster::status blob_table::reserve(std::uint64_t bytes, time_point now) {
  if (bytes > limits_.blob_bytes_max)
    return {code::out_of_range,
            "the blob has " + words(bytes) + "; the limit is " + words(limits_.blob_bytes_max)};
  if (all_.size() >= limits_.blobs_max)
    return {code::resource_exhausted, "the server already stores " + std::to_string(all_.size()) +
                                          " blobs, which is the limit"};
  if (bytes > limits_.bytes_max)
    return {code::resource_exhausted, "the blob has " + words(bytes) +
                                          ", which is more than --blob-bytes-max (" +
                                          words(limits_.bytes_max) + ")"};
  while (!fits(bytes) && !left_.empty()) drop_first(left_);
  while (!fits(bytes) && !fresh_.empty() && fresh_.begin()->first.first + limits_.fresh <= now)
    drop_first(fresh_);
  if (!fits(bytes))
    return {code::resource_exhausted, "blobs that are new or in use occupy " + words(used_.used()) +
                                          " of --blob-bytes-max (" + words(limits_.bytes_max) +
                                          "), so there is no room for a blob of " + words(bytes)};
  reserved_ += bytes, used_.add(bytes);
  return {};
}

bool blob_table::put(std::string_view hash, std::uint64_t size, time_point now) {
  give_back(size);
  return restore(hash, size, now);
}

bool blob_table::restore(std::string_view hash, std::uint64_t size, time_point now) {
  auto const it = all_.try_emplace(std::string(hash)).first;
  auto& e = it->second;
  if (e.there) return false;
  e.there = true;
  e.size = size;
  ++there_;
  used_.add(size);
  if (e.holds > 0) {
    ++held_;
    held_bytes_ += size;
  }
  enqueue_entry(it, now);
  return true;
}

bool blob_table::touch(std::string_view hash, time_point now) {
  auto const it = all_.find(std::string(hash));
  if (it == all_.end() || !it->second.there) return false;
  dequeue_entry(it->second);
  it->second.left = false;
  enqueue_entry(it, now);
  return true;
}

bool blob_table::hold(std::string_view hash) {
  if (all_.size() >= limits_.blobs_max && !all_.contains(std::string(hash))) return false;
  auto& e = known(hash);
  if (e.there) {
    dequeue_entry(e);
    if (e.holds == 0) {
      ++held_;
      held_bytes_ += e.size;
    }
  }
  e.left = true;
  ++e.holds;
  return e.there;
}

bool blob_table::is_held(std::string_view hash) const {
  auto const it = all_.find(std::string(hash));
  return it != all_.end() && it->second.holds > 0;
}

void blob_table::release(std::string_view hash, time_point now) {
  auto const it = all_.find(std::string(hash));
  if (it == all_.end() || it->second.holds == 0) return;  // the hold was ignored at blobs_max
  auto& e = it->second;
  if (--e.holds == 0 && e.there) {
    --held_;
    held_bytes_ -= e.size;
  }
  enqueue_entry(it, now);
}

void blob_table::pin(std::string_view hash) {
  auto& e = known(hash);
  if (e.there) dequeue_entry(e);
  ++e.pins;
}

void blob_table::unpin(std::string_view hash, time_point now) {
  auto const it = all_.find(std::string(hash));
  if (it == all_.end() || it->second.pins == 0) return;
  --it->second.pins;
  enqueue_entry(it, now);
}

// Erases the entry of an unstored blob that is neither held nor pinned.
void blob_table::enqueue_entry(entries::iterator it, time_point now) {
  auto& e = it->second;
  if (e.holds > 0 || e.pins > 0) return;
  if (!e.there) return void(all_.erase(it));
  e.at = {now, ++last_};
  line_of(e).emplace(e.at, it->first);
}

void blob_table::dequeue_entry(entry& e) {
  if (e.holds == 0 && e.pins == 0) line_of(e).erase(e.at);
}

void blob_table::drop_first(order& line) {
  auto const node = line.extract(line.begin());
  auto const it = all_.find(node.mapped());
  used_.take(it->second.size);
  --there_;
  all_.erase(it);
  removed_.push_back(node.mapped());
}

void blob_table::sweep(time_point now) {
  for (auto* const line : {&left_, &fresh_})
    while (!line->empty() && line->begin()->first.first + limits_.kept <= now) drop_first(*line);
}

std::optional<std::uint64_t> blob_table::size_of(std::string_view hash) const {
  auto const it = all_.find(std::string(hash));
  if (it == all_.end() || !it->second.there) return {};
  return it->second.size;
}

blob_counts blob_table::counts() const {
  return {there_, used_.used(), held_, held_bytes_, limits_.bytes_max};
}

std::string blob_table::invalid() const {
  std::uint64_t bytes = 0, there = 0, held = 0, idle = 0;
  for (auto const& [hash, e] : all_) {
    if (!e.there && e.holds + e.pins == 0)
      return "a blob that is neither stored nor in use is still listed";
    if (!e.there) continue;
    bytes += e.size;
    ++there;
    held += e.holds > 0;
    if (e.holds + e.pins > 0) continue;
    ++idle;
    auto const& line = e.left ? left_ : fresh_;
    auto const at = line.find(e.at);
    if (at == line.end() || at->second != hash)
      return "an unused blob is not in the eviction queue";
  }
  if (bytes + reserved_ != used_.used() || there != there_ || held != held_)
    return "the blob counters do not match the blobs";
  return idle == fresh_.size() + left_.size()
             ? ""
             : "the eviction queue contains a blob that is in use or has been deleted";
}

}  // namespace muster::core
