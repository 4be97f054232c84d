// Columns, minutes and trace events.
#include "web/json/stream_json.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "base/enum_names.hpp"
#include "server/core/api/id_text.hpp"

namespace muster::web {

namespace {

std::int64_t us(core::time_point t) {
  return t.time_since_epoch().count();
}
std::int64_t ms(core::duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

template <class Rows, class Write>
void column(json_out& out, std::string_view key, Rows const& rows, Write const& write) {
  out.key(key).begin_array();
  for (auto const& r : rows) write(r);
  out.end_array();
}

class stream_writer {
 public:
  stream_writer(json_out& out, stream_answer const& a) : out_(out), a_(a) {
    std::size_t i = 0;
    for (auto const& [f, name] : a.functions) position_.emplace(f, i++);
    base_ = a.now;
    for (auto const& b : a.bars) base_ = std::min(base_, b.started);
    base_ = std::chrono::floor<std::chrono::milliseconds>(base_);
    for (auto const& b : a.bars) name_job(b.job);
    for (auto const& r : a.running) name_job(r.job);
  }

  void write() {
    auto const object = out_.object();
    out_.key("now_ms").number(core::to_unix_ms(a_.now));
    out_.key("base_ms").number(core::to_unix_ms(base_));
    out_.key("since_ms").number(core::to_unix_ms(a_.since));
    out_.key("next").number(a_.next);
    out_.key("more").boolean(a_.more);
    out_.key("lanes").begin_array();
    for (auto const& [number, l] : a_.lanes) {
      auto const lane = out_.object();
      out_.key("lane").number(number);
      out_.key("task").string(l.job + ":" + std::to_string(l.index));
      out_.key("cluster").string(a_.cluster);
      out_.key("slots").number(l.slots);
    }
    out_.end_array();
    out_.key("functions").begin_array();
    for (auto const& [f, name] : a_.functions) out_.string(name);
    out_.end_array();
    out_.key("jobs").begin_array();
    for (auto const j : jobs_) id(j);
    out_.end_array();
    write_bars();
    write_running();
    if (!a_.minutes.empty()) write_minutes();
  }

 private:
  template <class Row>
  void lane(Row const& r) {
    out_.number(r.lane);
  }
  template <class Row>
  void function(Row const& r) {
    auto const known = position_.find(r.function);
    out_.number(known == position_.end() ? position_.size() : known->second);
  }
  void name_job(core::session_id id) {
    if (job_position_.emplace(id, jobs_.size()).second) jobs_.push_back(id);
  }
  template <class Row>
  void job(Row const& r) {
    out_.number(job_position_.at(r.job));
  }
  template <class Id>
  void id(Id i) {
    out_.string(i == Id{} ? std::string() : core::text(i));
  }
  std::int64_t since_base(core::time_point t) const { return us(t) - us(base_); }

  void write_bars() {
    auto const& bars = a_.bars;
    using bar = core::bar_view const&;
    out_.key("bars").begin_object();
    column(out_, "lane", bars, [this](bar b) { lane(b); });
    column(out_, "start_us", bars, [this](bar b) { out_.number(since_base(b.started)); });
    column(out_, "duration_us", bars, [this](bar b) { out_.number(b.lasted.count()); });
    column(out_, "busy_us", bars, [this](bar b) { out_.number(b.busy.count()); });
    column(out_, "function", bars, [this](bar b) { function(b); });
    column(out_, "state", bars, [this](bar b) { out_.number(static_cast<unsigned>(b.state)); });
    column(out_, "count", bars, [this](bar b) { out_.number(b.count); });
    column(out_, "failed", bars, [this](bar b) { out_.number(b.failed); });
    column(out_, "closure", bars, [this](bar b) { id(b.closure); });
    column(out_, "job", bars, [this](bar b) { job(b); });
    out_.end_object();
  }

  void write_running() {
    auto const& all = a_.running;
    using row = core::running_view const&;
    out_.key("running").begin_object();
    column(out_, "lane", all, [this](row r) { lane(r); });
    column(out_, "start_us", all, [this](row r) { out_.number(since_base(r.started)); });
    column(out_, "function", all, [this](row r) { function(r); });
    column(out_, "closure", all, [this](row r) { id(r.closure); });
    column(out_, "job", all, [this](row r) { job(r); });
    out_.end_object();
  }

  void write_minutes() {
    auto const& all = a_.minutes;
    using row = core::minute_view const&;
    out_.key("minutes").begin_object();
    column(out_, "lane", all, [this](row r) { lane(r); });
    column(out_, "start_ms", all, [this](row r) { out_.number(core::to_unix_ms(r.begin)); });
    column(out_, "count", all, [this](row r) { out_.number(r.count); });
    column(out_, "failed", all, [this](row r) { out_.number(r.failed); });
    column(out_, "busy_ms", all, [this](row r) { out_.number(ms(r.busy)); });
    column(out_, "function", all, [this](row r) { function(r); });
    out_.end_object();
  }

  json_out& out_;
  stream_answer const& a_;
  core::time_point base_{};
  std::map<core::function_id, std::size_t> position_;
  std::unordered_map<core::session_id, std::size_t> job_position_;
  std::vector<core::session_id> jobs_;
};

}  // namespace

std::string_view name(core::bar_state s) {
  static constexpr std::string_view names[] = {"SUCCEEDED", "FAILED", "CANCELLED", "LOST"};
  return named<core::bar_state::lost>(names, s);
}

void stream_answer::take(core::activity_names names) {
  for (auto& l : names.lanes) lanes[l.lane] = std::move(l);
  for (auto& [f, name] : names.functions) functions.emplace(f, std::move(name));
}

void write(json_out& out, stream_answer const& a) {
  stream_writer(out, a).write();
}

void write_history(json_out& out, std::vector<core::minute_view> const& minutes,
                   core::time_point now, std::uint32_t steps) {
  constexpr auto minute = std::chrono::minutes(1);
  auto const last = std::chrono::floor<std::chrono::minutes>(now);
  std::vector<core::minute_view> all(steps);
  for (std::uint32_t i = 0; i < steps; ++i) all[i].begin = last - (steps - 1 - i) * minute;
  for (auto const& m : minutes)
    if (m.begin >= all.front().begin && m.begin <= last)
      all[static_cast<std::size_t>((m.begin - all.front().begin) / minute)] = m;
  using row = core::minute_view const&;
  auto const object = out.object();
  out.key("step_ms").number(ms(minute));
  column(out, "t", all, [&out](row m) { out.number(core::to_unix_ms(m.begin)); });
  column(out, "finished", all, [&out](row m) { out.number(m.count); });
  column(out, "failed", all, [&out](row m) { out.number(m.failed); });
  column(out, "busy_ms", all, [&out](row m) { out.number(ms(m.busy)); });
}

trace_json::trace_json() : text_("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[") {}

void trace_json::next() {
  if (!std::exchange(first_, false)) text_ += ',';
  text_ += '\n';
}

void trace_json::tell_name(std::string_view kind, std::uint32_t process, std::uint32_t thread,
                           std::string_view name) {
  next();
  json_out out(text_);
  auto const event = out.object();
  out.key("ph").string("M");
  out.key("name").string(kind);
  out.key("pid").number(process);
  out.key("tid").number(thread);
  out.key("args").begin_object();
  out.key("name").string(name);
  out.end_object();
}

// The first of the task's threads that does nothing then.
std::uint32_t trace_json::thread_for(std::uint32_t process, std::string_view task, span const& s) {
  auto& all = threads_[{process, std::string(task)}];
  auto it =
      std::find_if(all.begin(), all.end(), [&s](track const& t) { return t.free <= s.started; });
  if (it == all.end() && all.size() < threads_max) {
    it = all.insert(all.end(), {++last_thread_, {}});
    auto const more = all.size() > 1 ? " #" + std::to_string(all.size()) : std::string();
    tell_name("thread_name", process, it->number, std::string(task) + more);
  }
  if (it == all.end()) --it;
  it->free = std::max(it->free, s.started + s.lasted);
  return it->number;
}

void trace_json::add(std::string_view process, std::string_view task, span const& s) {
  auto it = processes_.find(process);
  if (it == processes_.end()) {
    auto const number = static_cast<std::uint32_t>(processes_.size() + 1);
    it = processes_.emplace(process, number).first;
    tell_name("process_name", number, 0, process);
  }
  auto const thread = thread_for(it->second, task, s);
  next();
  json_out out(text_);
  auto const event = out.object();
  out.key("ph").string("X");
  out.key("name").string(s.name);
  out.key("cat").string(s.category);
  out.key("pid").number(it->second);
  out.key("tid").number(thread);
  out.key("ts").number(us(s.started));
  out.key("dur").number(s.lasted.count());
  out.key("args").begin_object();
  out.key("state").string(s.state);
  if (s.closure != core::closure_id{}) out.key("closure").string(core::text(s.closure));
  if (s.job != core::session_id{}) out.key("job").string(core::text(s.job));
  if (s.count > 1) out.key("count").number(s.count);
  if (s.count > 1 && s.failed > 0) out.key("failed").number(s.failed);
  if (!s.error.empty()) out.key("error").string(s.error);
  out.end_object();
}

void trace_json::end() {
  text_ += "\n]}\n";
}

}  // namespace muster::web
