#include <algorithm>

#include "base/text.hpp"
#include "server/core/objects/object_table.hpp"

namespace muster::core::objects {
namespace {

bool fits(object_id id, object const& o, object_query const& q, std::string const& part) {
  auto const same = [](auto const& wanted, auto const& is) {
    return wanted == std::decay_t<decltype(wanted)>{} || wanted == is;
  };
  return (q.submitter.empty() || o.submitter.empty() || o.submitter == q.submitter) &&
         same(q.job, o.spec.job) && (!q.index || *q.index == o.spec.index) &&
         same(q.class_name, o.spec.class_name) && same(q.owner, o.owner) &&
         (!q.state || *q.state == o.state) &&
         (part.empty() || lower(o.spec.name + " " + text(id)).find(part) != std::string::npos);
}

}  // namespace

object_view object_table::view(object_id id, object const& o) const {
  object_view v;
  v.id = id;
  v.spec = o.spec;
  v.spec.args = {};
  v.state = o.state;
  v.end = o.end;
  v.owner = o.owner;
  v.submitter = o.submitter;
  v.created = o.created;
  v.since = o.since;
  auto const at = book_.tasks().find({o.spec.job, o.spec.index});
  bool const over = o.state == object_state::failed || o.state == object_state::lost;
  bool const here = at != book_.tasks().end() && at->second.stream != stream_id{} && !over;
  if (here) v.incarnation = at->second.incarnation;
  auto const open = calls_.open(id);
  // The worker has received all open calls and starts them in order.
  if (here && o.state == object_state::ready)
    v.executing = std::min<std::size_t>(open, o.spec.concurrency);
  v.waiting = open - v.executing;
  v.answered = o.answered;
  v.error = failure_text(o.why);
  v.last_error = o.last_error;
  return v;
}

std::vector<object_view> object_table::list(object_id before, std::size_t limit,
                                            object_query const& q) const {
  std::vector<object_view> views;
  auto const part = lower(q.text);
  auto const& all = book_.all();
  auto it = before == object_id{} ? all.end() : all.lower_bound(before);
  while (it != all.begin() && views.size() < limit) {
    --it;
    if (fits(it->first, it->second, q, part)) views.push_back(view(it->first, it->second));
  }
  return views;
}

std::vector<task_name> object_table::holders() const {
  std::vector<std::pair<std::size_t, task_name>> found;
  for (auto const& [name, t] : book_.tasks())
    if (t.takes && t.stream != stream_id{}) found.emplace_back(t.has.size(), name);
  std::sort(found.begin(), found.end());
  std::vector<task_name> names;
  for (auto& [count, name] : found) names.push_back(std::move(name));
  return names;
}

object_counts object_table::counts() const {
  object_counts c;
  for (auto const& [id, o] : book_.all()) ++c.by_state[static_cast<std::size_t>(o.state)];
  c.calls = ended_;
  return c;
}

}  // namespace muster::core::objects
