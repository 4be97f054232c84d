#include "client/worker/job.hpp"

#include <cxxabi.h>

#include <boost/core/demangle.hpp>
#include <typeinfo>

#include "client/error_text.hpp"
#include "muster/closure_error.hpp"
#include "muster/detail/blob_content.hpp"
#include "muster/function_error.hpp"

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

failure failure_of_current_exception() {
  failure f;
  try {
    throw;
  } catch (function_error const& e) {
    f.kind = e.kind();
    f.type = e.type();
    f.message = e.what();
    f.traceback = e.traceback();
    if (auto const* lost = dynamic_cast<dependency_lost const*>(&e))
      f.dependencies = lost->dependencies();
  } catch (closure_error const& e) {  // from an object on a task, or from another session's closure
    f.type = boost::core::demangle(typeid(e).name());
    f.message = e.what();
    if (e.kind() == failure_kind::dependency_lost && !e.failure().dependencies.empty()) {
      f.kind = e.kind();
      f.dependencies = e.failure().dependencies;
    }
  } catch (std::exception const& e) {
    f.type = boost::core::demangle(typeid(e).name());
    f.message = error_text(e);
  } catch (...) {
    auto const* type = abi::__cxa_current_exception_type();
    f.type = type ? boost::core::demangle(type->name()) : "unknown";
    f.message = "threw an exception that is not a std::exception";
  }
  // Only the server reports lost workers.
  if (f.kind == failure_kind::worker_lost) f.kind = failure_kind::user;
  return f;
}

bool call_function(registered_function const& f, context& c, value_view args, value& result,
                   failure& why) noexcept {
  try {
    f.call(c, args, result);
  } catch (...) {
    why = failure_of_current_exception();
    if (c.cancelled() && why.kind == failure_kind::user) why.kind = failure_kind::cancelled;
    return false;
  }
  if (result.bytes.size() > result_bytes_max) {
    why = {failure_kind::user, "muster::result_too_large",
           "the result has " + std::to_string(result.bytes.size()) + " bytes, the limit is " +
               std::to_string(result_bytes_max)};
    result.bytes = {};
    return false;
  }
  if (result.bytes.empty() && result.encoding == encoding::json) result.bytes = "null";
  return true;
}

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
  c.set_environment(j.workers, j.kept ? &link : nullptr);
  try {
    if (!j.uses.empty() && !j.function->typed)
      j.args = j.kept->resolve({j.args.bytes, j.args.encoding}, j.uses);
    detail::wait_recording_scope const waits(j.waits_since);
    detail::blob_contents named;
    {
      detail::blob_recording_scope const here(named, j.worker.get());
      j.ok = call_function(*j.function, c, {j.args.bytes, j.args.encoding}, j.result, j.why);
    }
    if (j.ok)
      for (auto const& content : named) content->named_by_output();
  } catch (...) {
    j.ok = false;
    j.why = failure_of_current_exception();
  }
  if (j.builds != 0) keep(j, std::move(object));
}

}  // namespace muster
