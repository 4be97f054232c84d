#include "server/history/rows/ended_rows.hpp"

#include <algorithm>

namespace muster::history {

namespace {

// Returns the end of a text, which is the most informative part of a traceback.
std::string last_of(std::string const& text) {
  return text.size() <= ended_rows::text_max
             ? text
             : "…" + text.substr(text.size() - ended_rows::text_max);
}
std::string first_of(std::string const& text) {
  return text.size() <= ended_rows::text_max ? text : text.substr(0, ended_rows::text_max) + "…";
}

std::uint64_t bytes_of(core::failure const& f) {
  return sizeof f + f.type.size() + f.message.size() + f.traceback.size() + f.worker.size();
}

}  // namespace

// The search is rare, because rows of one worker arrive consecutively. It is short, because a chunk
// has only 128 rows.
void ended_rows::hold(chunk& c, std::uint32_t place) {
  c.last_place = place;
  if (place == places::none || std::find(c.ran_at.begin(), c.ran_at.end(), place) != c.ran_at.end())
    return;
  places_.hold(place);
  c.ran_at.push_back(place);
}

void ended_rows::link(chunk_number at, ring& r) {
  auto& c = *chunks_[at];
  c.previous = r.back, c.next = none;
  (r.back == none ? r.front : chunks_[r.back]->next) = at;
  r.back = at;
  ++r.chunks;
  c.older = newest_, c.newer = none;
  (newest_ == none ? oldest_ : chunks_[newest_]->newer) = at;
  newest_ = at;
}

void ended_rows::unlink(chunk_number at) {
  auto& c = *chunks_[at];
  auto& s = sessions_[c.owner];
  auto& r = s.rings[c.in];
  if (c.in == newest && r.back == at) s.free = 0;
  (c.previous == none ? r.front : chunks_[c.previous]->next) = c.next;
  (c.next == none ? r.back : chunks_[c.next]->previous) = c.previous;
  --r.chunks;
  (c.older == none ? oldest_ : chunks_[c.older]->newer) = c.newer;
  (c.newer == none ? newest_ : chunks_[c.newer]->older) = c.older;
}

void ended_rows::empty(chunk& c) {
  for (auto const place : c.ran_at) places_.release(place);
  c.ran_at.clear();
  c.last_place = places::none;
  bytes_.take(c.text_bytes);
  c.failures.clear();
  c.text_bytes = 0;
  c.used = 0;
}

void ended_rows::drop(chunk_number at) {
  unlink(at);
  empty(*chunks_[at]);
  bytes_.take(chunk_bytes());
  chunks_[at] = nullptr;
  unused_.push_back(at);
}

void ended_rows::close(row_owner n) {
  if (!sessions_.contains(n)) return;
  for (auto const& r : sessions_[n].rings)
    while (r.front != none) drop(r.front);
  sessions_.close(n);
}

ended_rows::chunk& ended_rows::append(row_owner n, part p) {
  auto& r = sessions_[n].rings[p];
  auto const most =
      chunks_for(p == newest ? config_.session_rows_max : config_.session_failures_max);
  chunk_number at;
  if (r.chunks >= most) {
    at = r.front;
    if (p == newest) keep_failures(*chunks_[at]);
    unlink(at);
    empty(*chunks_[at]);
  } else {
    if (unused_.empty()) {
      at = static_cast<chunk_number>(chunks_.size());
      chunks_.emplace_back();
    } else {
      at = unused_.back();
      unused_.pop_back();
    }
    chunks_[at] = std::make_unique<chunk>();
    bytes_.add(chunk_bytes());
  }
  auto& c = *chunks_[at];
  c.owner = n, c.in = p;
  c.first = r.rows;
  r.rows += chunk_rows;
  link(at, r);
  return c;
}

bool ended_rows::begin_chunk(row_owner n, of_session& s) {
  if (config_.session_rows_max == 0) return false;
  append(n, newest);
  s.free = chunk_rows;
  keep_within_bytes();
  return s.free > 0;
}

void ended_rows::keep_failures(chunk& from) {
  if (config_.session_failures_max == 0) return;
  auto const owner = from.owner;
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < from.used; ++i) {
    auto const& r = from.rows[i];
    if (r.ended_as() == closure_state::succeeded) continue;
    auto& why = from.failures[next++];
    if (r.ended_as() != closure_state::failed) continue;
    auto const back = sessions_[owner].rings[failures].back;
    auto& to =
        back != none && chunks_[back]->used < chunk_rows ? *chunks_[back] : append(owner, failures);
    to.rows[to.used++] = r;
    hold(to, r.place);
    auto const bytes = bytes_of(why);
    from.text_bytes -= bytes, to.text_bytes += bytes;
    to.failures.push_back(std::move(why));
    why = {};
    from.text_bytes += bytes_of(why), bytes_.add(bytes_of(why));
  }
}

void ended_rows::keep(chunk& c, core::failure const& f) {
  c.failures.push_back({f.kind,
                        first_of(f.type),
                        first_of(f.message),
                        last_of(f.traceback),
                        first_of(f.worker),
                        f.attempt,
                        {}});
  auto const bytes = bytes_of(c.failures.back());
  c.text_bytes += bytes;
  bytes_.add(bytes);
  keep_within_bytes();
}

void ended_rows::keep_within_bytes() {
  while (too_many_bytes() && oldest_ != none) drop(oldest_);
}

std::uint64_t ended_rows::size(row_owner n) const {
  std::uint64_t rows = 0;
  if (!sessions_.contains(n)) return rows;
  for (auto const& r : sessions_[n].rings)
    for (auto at = r.front; at != none; at = chunks_[at]->next) rows += chunks_[at]->used;
  return rows;
}

std::string ended_rows::invalid() const {
  std::uint64_t bytes = 0;
  std::size_t chunks = 0, linked = 0;
  for (auto const& c : chunks_) {
    if (!c) continue;
    ++chunks;
    std::uint64_t texts = 0, failed = 0;
    for (auto const& f : c->failures) texts += bytes_of(f);
    for (std::uint32_t i = 0; i < c->used; ++i)
      failed += c->rows[i].ended_as() != closure_state::succeeded;
    if (texts != c->text_bytes || failed != c->failures.size())
      return "the failure counts do not match the stored rows";
    bytes += chunk_bytes() + texts;
  }
  if (bytes != bytes_.used()) return "the byte count does not match the stored rows";
  if (too_many_bytes()) return "the stored rows exceed the byte limit";
  std::string wrong;
  sessions_.for_each([&](row_owner n, of_session const& s) {
    for (auto const p : {newest, failures}) {
      std::uint32_t in_ring = 0;
      for (auto at = s.rings[p].front; at != none; at = chunks_[at]->next, ++in_ring)
        if (chunks_[at]->owner != n || chunks_[at]->in != p)
          wrong = "a chunk of rows is in the list of another session";
      if (in_ring != s.rings[p].chunks) wrong = "a session's number of chunks is wrong";
      linked += in_ring;
    }
    auto const back = s.rings[newest].back;
    if (s.free != (back == none ? 0 : chunk_rows - chunks_[back]->used))
      wrong = "a session's number of free rows is wrong";
  });
  if (linked != chunks) return "a chunk of rows belongs to no session";
  return wrong;
}

}  // namespace muster::history
