#include "server/core/objects/object_book.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"

namespace muster::core {

std::string text(object_id id) {
  return "obj_" + hex16(raw(id));
}

namespace objects {

std::string failure_text(failure const& f) {
  return f.type.empty() ? f.message : f.type + ": " + f.message;
}

std::string text(task_name const& t) {
  return t.first + ":" + std::to_string(t.second);
}

namespace {

status check_text(char const* field, std::string const& text, std::size_t max) {
  if (text.size() > max)
    return wrong_field(
        field, std::to_string(text.size()) + " bytes, the limit is " + std::to_string(max), max);
  bool const control =
      std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 32; });
  return control ? wrong_field(field, "must not contain control characters") : status();
}

}  // namespace

status object_book::check(object_spec const& s) const {
  auto const bytes = limits_.name_bytes_max;
  for (auto const& [field, text] : {std::pair<char const*, std::string const*>{"name", &s.name},
                                    {"class_name", &s.class_name},
                                    {"task", &s.job}})
    if (auto bad = check_text(field, *text, bytes); !bad.ok()) return bad;
  if (s.job.empty() || s.index < 0) return wrong_field("task", "required, for example \"ps:0\"");
  if (s.detached && s.name.empty())
    return wrong_field("name", "a detached object needs a name, so that it can be found later");
  if (s.concurrency == 0 || s.concurrency > limits_.concurrency_max)
    return wrong_field("concurrency",
                       "must be from 1 to " + std::to_string(limits_.concurrency_max) + ", got " +
                           std::to_string(s.concurrency),
                       limits_.concurrency_max);
  if (s.args.size() > limits_.args_bytes_max)
    return wrong_field("args",
                       std::to_string(s.args.size()) + " bytes, the limit is " +
                           std::to_string(limits_.args_bytes_max),
                       limits_.args_bytes_max);
  if (named(s.name) != object_id{})
    return {code::already_exists, "name: object '" + s.name + "' already exists", "name"};
  if (objects_.size() >= limits_.objects_max)
    return {code::resource_exhausted,
            "the server has " + std::to_string(objects_.size()) + " objects, which is the limit"};
  if (args_bytes_ + s.args.size() > limits_.waiting_bytes_max)
    return {code::resource_exhausted,
            "args: the arguments of objects that are waiting to be created use " +
                std::to_string(args_bytes_) + " bytes; the limit is " +
                std::to_string(limits_.waiting_bytes_max),
            "args", limits_.waiting_bytes_max};
  return {};
}

object_id object_book::add(object o) {
  auto const id = object_id{++last_};
  if (!o.spec.name.empty()) names_.emplace(o.spec.name, id);
  tasks_[{o.spec.job, o.spec.index}].has.insert(id);
  args_bytes_ += o.spec.args.size();
  objects_.emplace(id, std::move(o));
  return id;
}

object* object_book::find(object_id id) {
  auto const it = objects_.find(id);
  return it == objects_.end() ? nullptr : &it->second;
}

object_id object_book::named(std::string_view name) const {
  auto const it = names_.find(name);
  return it == names_.end() ? object_id{} : it->second;
}

void object_book::free_name(object_id id, object const& o) {
  auto const it = names_.find(o.spec.name);
  if (it != names_.end() && it->second == id) names_.erase(it);
}

void object_book::erase(object_id id) {
  auto const it = objects_.find(id);
  muster::check(it != objects_.end(), "an object must not be erased twice");
  free_name(id, it->second);
  forget_args(it->second);
  task_name const t{it->second.spec.job, it->second.spec.index};
  tasks_[t].has.erase(id);
  tidy(t);
  objects_.erase(it);
}

void object_book::forget_args(object& o) {
  args_bytes_ -= o.spec.args.size();
  o.spec.args = {};
}

void object_book::lose(time_point now, object_id id, failure why, object_end how) {
  auto& o = objects_.at(id);
  free_name(id, o);
  tasks_[{o.spec.job, o.spec.index}].has.erase(id);
  auto const before = how == object_end::raised || how == object_end::unable ||
                      how == object_end::slow;  // the worker was connected
  o.become(now, before ? object_state::failed : object_state::lost);
  o.end = how;
  o.why = std::move(why);
  forget_args(o);
  o.queue.clear();
  lost_.push_back(id);
  while (lost_.size() > limits_.lost_max) {
    if (find(lost_.front())) erase(lost_.front());
    lost_.pop_front();
  }
}

std::optional<task_name> object_book::task_of(stream_id stream) const {
  auto const it = streams_.find(stream);
  return it == streams_.end() ? std::nullopt : std::optional(it->second);
}

void object_book::connect(task& t, task_name const& name, stream_id stream) {
  streams_.erase(t.stream);
  t.stream = stream;
  if (stream != stream_id{}) streams_[stream] = name;
}

void object_book::tidy(task_name const& t) {
  auto const it = tasks_.find(t);
  if (it != tasks_.end() && it->second.stream == stream_id{} && it->second.lost_at == never &&
      it->second.has.empty())
    tasks_.erase(it);
}

}  // namespace objects
}  // namespace muster::core
