#include "server/doctor/step_log.hpp"

#include <algorithm>
#include <optional>

namespace muster::doctor {
namespace {

using core::duration;
using core::time_point;

void put(std::string& to, std::uint64_t n) {
  for (; n >= 0x80; n >>= 7) to += static_cast<char>(n | 0x80);
  to += static_cast<char>(n);
}
void put_signed(std::string& to, std::int64_t n) {
  put(to, static_cast<std::uint64_t>(n) << 1 ^ static_cast<std::uint64_t>(n >> 63));
}
void put(std::string& to, duration d) {
  put(to, static_cast<std::uint64_t>(std::max<std::int64_t>(0, d.count())));
}

// Reads numbers that `put` wrote. Returns nothing at the end or after malformed data.
class numbers {
 public:
  explicit numbers(std::string_view bytes) : rest_(bytes) {}

  bool over() const { return rest_.empty(); }
  std::optional<std::uint64_t> next() {
    std::uint64_t n = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      auto const byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      n |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return n;
    }
    rest_ = {};
    return {};
  }
  std::optional<std::int64_t> next_signed() {
    auto const n = next();
    if (!n) return {};
    return static_cast<std::int64_t>(*n >> 1) ^ -static_cast<std::int64_t>(*n & 1);
  }

 private:
  std::string_view rest_;
};

// Limit for times, because times are summed and data from disk can contain any number.
constexpr std::uint64_t longest_us = std::uint64_t{1} << 56;

bool possible(std::int64_t us) {
  constexpr auto most = static_cast<std::int64_t>(longest_us);
  return us >= -most && us <= most;
}

duration us(std::uint64_t n) {
  return duration(static_cast<std::int64_t>(std::min(n, longest_us)));
}

// Reads a span. The first number contains the step count and whether the span starts when the
// previous span ended.
bool read_one(numbers& in, step_span& s) {
  auto const head = in.next(), took = in.next();
  if (!head || !took) return false;
  s.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(*head >> 1, ~0u - 1)) + 1;
  s.took = us(*took);
  s.longest = s.took;
  if (s.count > 1) {
    auto const longest = in.next();
    if (!longest) return false;
    s.longest = us(*longest);
  }
  auto began = s.ended;
  s.step += s.count;
  if (*head & 1) {
    auto const gap = in.next_signed(), steps = in.next_signed();
    if (!gap || !steps) return false;
    if (!possible(*gap)) return false;
    began += duration(*gap);
    s.step += static_cast<std::uint64_t>(*steps);
  }
  s.ended = began + s.took;
  return possible(s.ended.time_since_epoch().count());
}

}  // namespace

std::string packed(std::vector<step_span> spans, time_point base) {
  std::stable_sort(spans.begin(), spans.end(),
                   [](auto const& a, auto const& b) { return a.rank < b.rank; });
  std::string to;
  for (auto it = spans.begin(); it != spans.end();) {
    auto const end =
        std::find_if(it, spans.end(), [&](auto const& s) { return s.rank != it->rank; });
    put(to, it->rank);
    put(to, static_cast<std::uint64_t>(end - it));
    step_span before{.rank = it->rank, .step = 0, .ended = base};
    for (; it != end; ++it) {
      auto const gap = it->ended - it->took - before.ended;
      auto const follows = gap == duration{} && it->step == before.step + it->count;
      put(to, std::uint64_t{it->count - 1} << 1 | (follows ? 0 : 1));
      put(to, it->took);
      if (it->count > 1) put(to, it->longest);
      if (!follows) {
        put_signed(to, gap.count());
        put_signed(to, static_cast<std::int64_t>(it->step - before.step - it->count));
      }
      before = *it;
    }
  }
  return to;
}

void unpack(std::string_view bytes, time_point base,
            std::function<void(step_span const&)> const& take) {
  if (!possible(base.time_since_epoch().count())) return;
  for (numbers in(bytes); !in.over();) {
    auto const rank = in.next(), n = in.next();
    if (!rank || !n) return;
    step_span s{.rank = static_cast<std::uint32_t>(*rank), .step = 0, .ended = base};
    for (std::uint64_t i = 0; i < *n; ++i) {
      if (!read_one(in, s)) return;
      take(s);
    }
  }
}

void step_log::add(time_point now, core::program_id program, std::uint32_t attempt,
                   std::vector<step_span> const& spans) {
  if (spans.empty()) return;
  auto& o = open_[{program, attempt}];
  if (o.spans.empty()) o.since = now;
  for (auto const& s : spans) {
    auto const [it, anew] = o.last.try_emplace(s.rank, o.spans.size());
    if (!anew) {
      auto& before = o.spans[it->second];
      bool const follows = before.ended == s.ended - s.took && before.step + s.count == s.step;
      auto const is_short = [](step_span const& one) { return one.longest < short_step; };
      if (follows && is_short(before) && is_short(s) && before.took + s.took <= sum_max) {
        before.count += s.count;
        before.step = s.step;
        before.ended = s.ended;
        before.took += s.took;
        before.longest = std::max(before.longest, s.longest);
        continue;
      }
      it->second = o.spans.size();
    }
    o.spans.push_back(s);
    ++open_spans_;
  }
  if (open_spans_ >= open_max || now - o.since >= open_for) pack_all(now);
}

void step_log::pack_all(time_point now) {
  for (auto& [which, o] : open_) {
    auto made = std::make_shared<step_segment>();
    made->program = which.first;
    made->attempt = which.second;
    made->made = made_ = std::max(now, made_ + duration(1));
    made->first = core::never;
    for (auto const& s : o.spans) {
      made->first = std::min(made->first, s.ended - s.took);
      made->last = std::max(made->last, s.ended);
    }
    made->spans = static_cast<std::uint32_t>(o.spans.size());
    made->bytes = packed(std::move(o.spans), made->first);
    bytes_ += cost(*made);
    segments_.push_back(std::move(made));
  }
  open_.clear();
  open_spans_ = 0;
  while (bytes_ > bytes_max) {
    bytes_ -= cost(*segments_.front());
    since_ = std::max(since_, segments_.front()->last);
    segments_.pop_front();
    if (taken_ > 0) --taken_;
  }
}

void step_log::forget(core::program_id program) {
  for (auto it = open_.lower_bound({program, 0});
       it != open_.end() && it->first.first == program;) {
    open_spans_ -= it->second.spans.size();
    it = open_.erase(it);
  }
  std::size_t place = 0, gone_before = 0;
  std::erase_if(segments_, [&](segment const& s) {
    bool const goes = s->program == program;
    if (goes) bytes_ -= cost(*s);
    if (place++ < taken_) gone_before += goes;
    return goes;
  });
  taken_ -= gone_before;
}

std::vector<step_log::segment> step_log::of(core::program_id program, time_point now) {
  pack_all(now);
  std::vector<segment> all;
  for (auto const& s : segments_)
    if (s->program == program) all.push_back(s);
  return all;
}

std::vector<step_log::segment> step_log::take_new(time_point now) {
  pack_all(now);
  std::vector<segment> some(segments_.begin() + static_cast<std::ptrdiff_t>(taken_),
                            segments_.end());
  taken_ = segments_.size();
  return some;
}

}  // namespace muster::doctor
