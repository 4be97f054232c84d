// Who comes late to barriers, member by member in the order of the contract.
#include "web/json/cluster_json.hpp"

namespace muster::web {
namespace {

// With fractions: what is late by a tenth of a millisecond each step is worth knowing.
void ms(json_out& out, std::string_view key, core::duration d) {
  out.key(key).number(std::chrono::duration<double, std::milli>(d).count());
}

void write(json_out& out, coordination::straggler_view::barrier const& b) {
  auto const object = out.object();
  out.key("id").string(b.id);
  out.key("counter").number(b.counter);
  out.key("ended_ms").number(core::to_unix_ms(b.ended));
  out.key("participants").number(b.participants);
  out.key("last").string(b.last);
  out.key("host").string(b.host);
  ms(out, "late_ms", b.late);
  ms(out, "spread_ms", b.spread);
}

void write(json_out& out, coordination::straggler_view::task const& t) {
  auto const object = out.object();
  out.key("task").string(t.name);
  out.key("host").string(t.host);
  out.key("last").number(t.last);
  out.key("barriers").number(t.barriers);
  ms(out, "late_mean_ms", t.late_mean);
  ms(out, "late_max_ms", t.late_max);
}

void write(json_out& out, coordination::straggler_view::host const& h) {
  auto const object = out.object();
  out.key("host").string(h.name);
  out.key("tasks").number(h.tasks);
  out.key("last").number(h.last);
  ms(out, "late_mean_ms", h.late_mean);
  ms(out, "late_max_ms", h.late_max);
}

}  // namespace

void write(json_out& out, coordination::straggler_view const& v) {
  auto const object = out.object();
  auto const list = [&out](std::string_view key, auto const& all) {
    out.key(key).begin_array();
    for (auto const& one : all) write(out, one);
    out.end_array();
  };
  out.key("generation").number(v.generation);
  list("barriers", v.barriers);
  list("tasks", v.tasks);
  list("hosts", v.hosts);
}

}  // namespace muster::web
