#include "web/json/machine_json.hpp"

#include <cmath>

namespace muster::web {
namespace {

template <class T>
void figure(member_list const& m, std::string_view name, std::optional<T> const& value,
            std::string_view words = {}) {
  m.when(value.has_value())(name, value.value_or(T{}), words);
}

void gpu_members(member_list const& m, machine::gpu const& g) {
  m("name", g.name);
  figure(m, "busy", g.busy, "fraction of time in use, 0 to 1");
  figure(m, "memory_bytes", g.memory);
  figure(m, "memory_total_bytes", g.memory_total);
}

void user_members(member_list const& m, machine::memory_user const& u) {
  m("pid", u.pid);
  m("name", u.name);
  m("bytes", u.bytes);
}

using sample = history::machine_sample;

void column(member_list const& m, std::string_view name, std::vector<sample> const& all,
            float sample::*of) {
  m.json(
      name, [] { return schema::array(schema::nullable(schema::number())); },
      [&](json_out& out) {
        out.begin_array();
        for (auto const& s : all) {
          if (s.*of < 0)
            out.null();
          else if (s.*of < 1'000)
            out.number(static_cast<double>(s.*of));
          else
            out.number(std::llround(s.*of));
        }
        out.end_array();
      });
}

void sample_members(member_list const& m, std::vector<sample> const& all) {
  m.list(
      "seconds", all, [](sample const& s) { return s.at; },
      "Unix times of the samples; in the other columns, null means unknown");
  column(m, "cpu", all, &sample::cpu);
  column(m, "memory_bytes", all, &sample::memory);
  column(m, "gpu_busy", all, &sample::gpu);
  column(m, "gpu_memory_bytes", all, &sample::gpu_memory);
  column(m, "received_per_s", all, &sample::received);
  column(m, "sent_per_s", all, &sample::sent);
  column(m, "read_per_s", all, &sample::read);
  column(m, "written_per_s", all, &sample::written);
}

}  // namespace

void machine_members(member_list const& m, machine const& seen) {
  figure(m, "cpu", seen.cpu, "number of busy cores");
  figure(m, "cpus", seen.cpus, "number of usable cores");
  figure(m, "memory_bytes", seen.memory);
  figure(m, "memory_total_bytes", seen.memory_total,
         "memory limit of the control group, or the memory of the machine if there is no limit");
  figure(m, "received_per_s", seen.received, "bytes");
  figure(m, "sent_per_s", seen.sent);
  figure(m, "read_per_s", seen.read, "bytes read from disks per second");
  figure(m, "written_per_s", seen.written);
  m.list("gpus", seen.gpus, gpu_members);
  m.when(!seen.memory_users.empty())
      .list("memory_users", seen.memory_users, user_members,
            "the largest processes of the worker and its children; present only while memory is "
            "short");
}

void members(member_list const& m, seen_machine const& s) {
  m.word("kind", s.task.empty() ? "server" : "worker", {"server", "worker"});
  m("cluster", s.cluster);
  m.some("task", s.task);
  m("host", s.newest.host);
  m("seen_ms", s.seen);
  m("fresh", s.fresh, "false if the worker is lost or has sent nothing for 20 s");
  m.some_object("machine", s.fresh ? &s.newest : nullptr, machine_members,
                "present while `fresh` is true");
  m.when(!s.samples.empty()).object("samples", [&s](member_list const& of) {
    sample_members(of, s.samples);
  });
}

void members(member_list const& m, core::task_view const& t, core::time_point now,
             std::optional<machine> const& seen) {
  members(m, t, now);
  m.some_object("machine", seen, machine_members,
                "missing if the worker is lost or reports nothing");
}

std::optional<machine> machine_of(history::machines const& all, core::task_view const& t,
                                  core::time_point now) {
  auto const* const row = all.find(t.job + ":" + std::to_string(t.index));
  if (!row || !row->fresh(now)) return {};
  return row->newest;
}

}  // namespace muster::web
