#include "server/core/workers/worker_registry.hpp"

namespace muster::core {

void worker_registry::enlist(worker& w) {
  if (raw(w.number) >= by_number_.size()) by_number_.resize(raw(w.number) + std::size_t{1});
  by_number_[raw(w.number)] = &w;
}

worker& worker_registry::add(stream_id stream, task_row& t) {
  auto& w = *workers_.emplace(stream, std::make_unique<worker>()).first->second;
  w.number = numbers_.take();
  w.stream = stream;
  w.task = &t;
  enlist(w);
  return w;
}

void worker_registry::erase(worker& w) {
  by_number_[raw(w.number)] = nullptr;
  numbers_.give_back(w.number);
  workers_.erase(w.stream);
}

std::string worker_registry::invalid() const {
  for (auto const& [stream, w] : workers_) {
    auto const name = w->task->name();
    if (w->stream != stream) return "a worker is listed under another stream";
    if (w->task->worker != w.get()) return "a worker's task refers to another worker";
    if (!w->task->present()) return "a task with an attached worker is not marked as present";
    if (w->counted != w->serves())
      return name + " is counted as serving but is not, or the reverse";
    if (w->away != (w->alarm != never))
      return name + " is disconnected without a timeout, or connected with one";
    if (w->away && w->task->state != task_state::late)
      return "a disconnected task is not in the state LATE";
  }
  for (auto const& [key, t] : tasks.rows())
    if (t->present() != (t->worker != nullptr))
      return t->name() + " is present without a worker, or has a worker but is not present";
  return tasks.invalid();
}

}  // namespace muster::core
