#include "web/live/jobs_topic.hpp"

#include <utility>

#include "server/hub/id_parsing.hpp"

namespace muster::web {

namespace {

bool looks_same(core::job_view const& a, core::job_view const& b) {
  return a.state == b.state && a.counts == b.counts && a.finished == b.finished &&
         a.name == b.name && a.error == b.error;
}

void write_job(json_out& out, core::job_view const& j) {
  auto const object = out.object();
  out.key("id").string(core::text(j.id));
  out.key("cluster").string(j.cluster);
  out.key("name").string(j.name);
  out.key("state").string(core::name(j.state));
  out.key("total").number(j.counts.total());
  out.key("queued").number(j.counts.queued + j.counts.blocked);
  out.key("running").number(j.counts.running);
  out.key("succeeded").number(j.counts.succeeded);
  out.key("failed").number(j.counts.failed);
  out.key("cancelled").number(j.counts.cancelled);
  out.key("created_ms").number(core::to_unix_ms(j.created));
  out.key("finished_ms").number(core::to_unix_ms(j.finished));
  out.key("error").string(j.error ? j.error->message : std::string());
  if (j.retry_of != core::session_id{}) out.key("retry_of").string(core::text(j.retry_of));
}

}  // namespace

void jobs_topic::update(std::vector<core::job_view> jobs, core::time_point now) {
  advance(now);
  auto before = std::exchange(jobs_, {});
  for (auto& j : jobs) {
    auto const id = j.id;
    auto const known = before.find(id);
    bool const same = known != before.end() && looks_same(known->second.view, j);
    auto const changed = same ? known->second.changed : change();
    jobs_.emplace(id, entry{std::move(j), changed});
  }
  for (auto const& [id, old] : before)
    if (!jobs_.contains(id)) forget(id);
}

void jobs_topic::write_body(json_out& out, std::uint64_t const* from) const {
  out.key("jobs").begin_array();
  for (auto const& [id, e] : jobs_)
    if (!from || e.changed > *from) write_job(out, e.view);
  out.end_array();
  auto const shown = [this](core::session_id id) { return jobs_.contains(id); };
  write_removed(out, from, shown, [&out](core::session_id id) { out.string(core::text(id)); });
}

}  // namespace muster::web
