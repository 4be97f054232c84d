#include "web/json/stream_json.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_map>

namespace muster::web {

namespace {

std::int64_t us(core::time_point t) {
  return t.time_since_epoch().count();
}

/// Signed, because times can be earlier than the base.
struct offset {
  std::int64_t n = 0;
  void write(json_out& out) const { out.number(n); }
  static schema::json schema() { return schema::integer(INT64_MIN, INT64_MAX); }
};

struct state_number {
  core::span_state state{};
  void write(json_out& out) const { out.number(static_cast<unsigned>(state)); }
  static schema::json schema() { return schema::integer(0, 3); }
};

template <class Id>
std::string text_or_none(Id id) {
  return id == Id{} ? std::string() : core::text(id);
}

struct running_id {
  core::closure_id id{};
  void write(json_out& out) const { out.string(text_or_none(id)); }
  static schema::json schema() { return schema::id("cl_"); }
};

class stream_writer {
 public:
  explicit stream_writer(stream_answer const& a) : a_(a) {
    std::size_t i = 0;
    for (auto const& [f, name] : a.functions) position_.emplace(f, i++);
    base_ = a.now;
    for (auto const& b : a.spans) base_ = std::min(base_, b.started);
    base_ = std::chrono::floor<std::chrono::milliseconds>(base_);
    for (auto const& b : a.spans) name_job(b.job);
    for (auto const& r : a.running) name_job(r.job);
  }

  void say(member_list const& m) const {
    m("now_ms", a_.now);
    m("base_ms", base_);
    m("since_ms", a_.since, "time since which the spans are complete");
    m("next", a_.next, "value of `after` for the next request");
    m("more", a_.more, "true if more spans are available after `next`");
    auto const lane = [this](member_list const& of, auto const& numbered) {
      auto const& [number, l] = numbered;
      of("lane", number);
      of("task", l.job + ":" + std::to_string(l.index));
      of("cluster", a_.cluster, "name of the cluster; empty for the main cluster");
      of("slots", l.slots, "highest number of slots that a worker with this name has had");
    };
    m.list("lanes", a_.lanes, lane, "tasks in this response; a task keeps its number");
    m.list("functions", a_.functions, [](auto const& named) { return named.second; });
    m.list("jobs", jobs_, text_or_none<core::session_id>,
           "ids of jobs; empty for sums and closures of the server");
    m.object("bars", [this](member_list const& of) { write_spans(of); });
    m.object(
        "running", [this](member_list const& of) { write_running(of); },
        "closures that workers are executing");
    m.when(!a_.minutes.empty())
        .object(
            "minutes", [this](member_list const& of) { write_minutes(of); },
            "work before since_ms; only in the first response");
  }

 private:
  std::size_t place(core::function_id f) const {
    auto const known = position_.find(f);
    return known == position_.end() ? position_.size() : known->second;
  }
  void name_job(core::session_id id) {
    if (job_position_.emplace(id, jobs_.size()).second) jobs_.push_back(id);
  }
  std::size_t place(core::session_id id) const { return job_position_.at(id); }
  offset since_base(core::time_point t) const { return {us(t) - us(base_)}; }

  void write_spans(member_list const& m) const {
    auto const& spans = a_.spans;
    using span = core::span_view const&;
    m.list("lane", spans, [](span b) { return b.lane; });
    m.list(
        "start_us", spans, [this](span b) { return since_base(b.started); },
        "start time, relative to base_ms");
    m.list("duration_us", spans, [](span b) { return b.lasted.count(); });
    m.list(
        "busy_us", spans, [](span b) { return b.busy.count(); },
        "for a sum: total duration of its closures");
    m.list(
        "function", spans, [this](span b) { return place(b.function); },
        "index into `functions`; a larger number stands for a sum over several functions");
    m.list(
        "state", spans, [](span b) { return state_number{b.state}; },
        "0 succeeded, 1 failed, 2 cancelled, 3 lost with its worker; a sum has 1 if a closure "
        "failed");
    m.list(
        "count", spans, [](span b) { return b.count; },
        "number of closures: 1, or the number of closures shorter than 1 ms that the task finished "
        "within 100 ms");
    m.list("failed", spans, [](span b) { return b.failed; });
    m.list(
        "closure", spans, [](span b) { return text_or_none(b.closure); },
        "id of the closure; empty for a sum");
    m.list(
        "job", spans, [this](span b) { return place(b.job); }, "index into `jobs`");
  }

  void write_running(member_list const& m) const {
    auto const& all = a_.running;
    using row = core::running_view const&;
    m.list("lane", all, [](row r) { return r.lane; });
    m.list("start_us", all, [this](row r) { return since_base(r.started); });
    m.list("function", all, [this](row r) { return place(r.function); });
    m.list("closure", all, [](row r) { return running_id{r.closure}; });
    m.list("job", all, [this](row r) { return place(r.job); });
  }

  void write_minutes(member_list const& m) const {
    auto const& all = a_.minutes;
    using row = core::minute_view const&;
    m.list("lane", all, [](row r) { return r.lane; });
    m.list("start_ms", all, [](row r) { return r.begin; });
    m.list(
        "count", all, [](row r) { return r.count; }, "closures that ended in the minute");
    m.list("failed", all, [](row r) { return r.failed; });
    m.list("busy_ms", all, [](row r) { return r.busy; });
    m.list(
        "function", all, [this](row r) { return place(r.function); },
        "index into `functions`; a larger number stands for several functions");
  }

  stream_answer const& a_;
  core::time_point base_{};
  std::map<core::function_id, std::size_t> position_;
  std::unordered_map<core::session_id, std::size_t> job_position_;
  std::vector<core::session_id> jobs_;
};

}  // namespace

void stream_answer::take(core::activity_names names) {
  for (auto& l : names.lanes) lanes[l.lane] = std::move(l);
  for (auto& [f, name] : names.functions) functions.emplace(f, std::move(name));
}

void members(member_list const& m, stream_answer const& a) {
  stream_writer(a).say(m);
}

void members(member_list const& m, worker_history const& h) {
  constexpr auto minute = std::chrono::minutes(1);
  constexpr std::size_t steps = stream_history / minute;
  auto const last = std::chrono::floor<std::chrono::minutes>(h.now);
  std::vector<core::minute_view> all(steps);
  for (std::size_t i = 0; i < steps; ++i) all[i].begin = last - (steps - 1 - i) * minute;
  for (auto const& one : h.minutes)
    if (one.begin >= all.front().begin && one.begin <= last)
      all[static_cast<std::size_t>((one.begin - all.front().begin) / minute)] = one;
  using row = core::minute_view const&;
  m("step_ms", minute);
  m.list(
      "t", all, [](row r) { return r.begin; }, "start of each minute");
  m.list(
      "finished", all, [](row r) { return r.count; },
      "closures that ended in each minute, including failed and cancelled closures");
  m.list(
      "failed", all, [](row r) { return r.failed; }, "finished closures that failed");
  m.list(
      "busy_ms", all, [](row r) { return r.busy; }, "total busy time of all slots");
  std::vector<history::worker_durations::point> ratios(steps);
  for (auto const& p : h.slowness)
    if (p.minute >= all.front().begin && p.minute <= last)
      ratios[static_cast<std::size_t>((p.minute - all.front().begin) / minute)] = p;
  m.json(
      "slowness", [] { return schema::array(schema::nullable(schema::number())); },
      [&](json_out& out) {
        out.begin_array();
        for (auto const& p : ratios) p.ratio > 0 ? out.number(p.ratio) : out.null();
        out.end_array();
      },
      "ratio of the executions of each minute to the median of the workers; null if unknown");
  m.when(h.slow_now.ratio > 0)("slowness_now", h.slow_now.ratio,
                               "ratio of the executions of the last 10 minutes");
  m.when(h.slow_now.since != core::never)("slow_since_ms", h.slow_now.since,
                                          "the minute since which the worker has been slow");
}

schema::json trace_json::schema() {
  using namespace web::schema;
  auto const event = object({{"ph", one_of({"X", "M"})},
                             {"name", text()},
                             {"cat", text(), optional},
                             {"pid", described(count(), "host or cluster number")},
                             {"tid", described(count(), "slot number within a task")},
                             {"ts", described(count(), "us since the epoch"), optional},
                             {"dur", count(), optional},
                             {"args", map(any())}});
  return object({{"displayTimeUnit", one_of({"ms"})}, {"traceEvents", array(event)}});
}

trace_json::trace_json() : text_("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[") {}

void trace_json::next() {
  if (!std::exchange(first_, false)) text_ += ',';
  text_ += '\n';
}

void trace_json::write_thread_name(std::string_view kind, std::uint32_t process,
                                   std::uint32_t thread, std::string_view name) {
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

std::uint32_t trace_json::thread_for(std::uint32_t process, std::string_view task, span const& s) {
  auto& all = threads_[{process, std::string(task)}];
  auto it =
      std::find_if(all.begin(), all.end(), [&s](track const& t) { return t.free <= s.started; });
  if (it == all.end() && all.size() < threads_max) {
    it = all.insert(all.end(), {++last_thread_, {}});
    auto const more = all.size() > 1 ? " #" + std::to_string(all.size()) : std::string();
    write_thread_name("thread_name", process, it->number, std::string(task) + more);
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
    write_thread_name("process_name", number, 0, process);
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
