// PerWorkerValues around a call: in place of the arguments before it, the result kept after it.
#include "client/worker/job.hpp"

namespace muster {
namespace {

void keep(job& j, std::any object) {
  kept_value v;
  if (!j.ok)
    v.error = j.why;
  else if (object.has_value())
    v.object = std::move(object);
  else
    v.data = std::move(j.result);
  j.kept->keep(j.builds, std::move(v));
  j.result = {"null", encoding::json};
}

}  // namespace

void run_job(job& j, context& c) noexcept {
  per_worker_link link;
  std::any object;
  if (j.kept) {
    link.find = [kept = j.kept](std::uint64_t handle) {
      auto v = kept->find(handle);
      return v ? std::move(v->object) : std::any();
    };
    if (j.builds != 0) link.keep = &object;
    if (!j.uses.empty() && j.function->typed)
      link.resolve = [&j](boost::json::value& args) { j.kept->resolve(args, j.uses); };
  }
  c.surround(j.workers, j.kept ? &link : nullptr);
  try {
    if (!j.uses.empty() && !j.function->typed)
      j.args = j.kept->resolve({j.args.bytes, j.args.encoding}, j.uses);
    j.ok = call_function(*j.function, c, {j.args.bytes, j.args.encoding}, j.result, j.why);
  } catch (...) {
    j.ok = false;
    j.why = failure_of_current_exception();
  }
  if (j.builds != 0) keep(j, std::move(object));
}

}  // namespace muster
