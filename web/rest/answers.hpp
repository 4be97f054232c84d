// How most handlers go on behind their checks: ask the engine, and answer with what it says or what
// went wrong. The functions give a handler's task and may be returned as they are; `tell(value)`
// makes the response, and without one the value's JSON is it. Web thread.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "server/core/api/activity.hpp"
#include "web/http/query.hpp"
#include "web/json/views_json.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web {

struct as_json {
  template <class View>
  response operator()(View const& view) const {
    return json_response(to_text(view));
  }
};
/// For values that are JSON text already.
struct as_it_is {
  response operator()(std::string text) const { return json_response(std::move(text)); }
};

/// The object of which `say(list, views…)` says the members.
template <class Say, class... View>
response object_response(Say const& say, View const&... views) {
  return json_response(object_line([&](member_list const& m) { say(m, views...); }));
}
template <auto say>
inline constexpr auto as_told_by = [](auto const& view) { return object_response(say, view); };

inline coro::task<response> answered(response r) {
  co_return r;
}
inline coro::task<response> refused(problem p) {
  co_return problem_response(p);
}

/// What a handler answers that has streamed. What is not whole is cut off, so that nobody takes it
/// for that.
inline coro::task<response> end_stream(exchange& ex, bool whole) {
  response done;
  done.streamed = true;
  done.close = !whole;
  if (whole) co_await ex.end_stream();
  co_return done;
}

/// Runs `work(hub or services)` on the engine and tells its value.
template <class Work, class Tell = as_json>
coro::task<response> look(web_context& context, Work work, Tell tell = {}) {
  auto value = co_await context.engine.on_engine(std::move(work));
  if (!value) co_return problem_response(value.error());
  co_return tell(std::move(*value));
}

/// Runs `work(hub or services, slot)` and tells the R that the slot is sent.
template <class R, class Work, class Tell = as_json>
coro::task<response> ask(web_context& context, Work work, Tell tell = {}) {
  auto value = co_await context.engine.call<muster::result<R>>(std::move(work));
  if (!value) co_return problem_response(value.error());
  co_return tell(std::move(*value));
}

/// The same for work that may take `time`, as long as the client is there.
template <class R, class Work, class Tell = as_json>
coro::task<response> wait(web_context& context, exchange& ex, std::chrono::milliseconds time,
                          Work work, Tell tell = {}) {
  auto value = co_await context.engine.wait<muster::result<R>>(std::move(work), time, ex.peer());
  if (!value) co_return problem_response(value.error());
  co_return tell(std::move(*value));
}

/// For an order that has nothing to tell but whether it was carried out: `work(hub, slot)` sends a
/// status.
template <class Work>
coro::task<response> order(web_context& context, Work work) {
  auto const done = co_await context.engine.call<muster::status>(std::move(work));
  co_return done.ok() ? no_content() : problem_response(done);
}

/// `then(id)` with the id of the path, or 404.
template <class Id, class Then>
coro::task<response> with_id(exchange& ex, std::string_view what,
                             std::optional<Id> (*parse)(std::string_view), Then const& then) {
  auto const text = ex.req.capture("id");
  auto const id = parse(text);
  return id ? then(*id) : refused(unknown_id(what, text));
}

/// `then(task)` with the task of the path, or 404.
template <class Then>
coro::task<response> with_task(exchange& ex, Then const& then) {
  auto const text = ex.req.capture("index");
  auto const index = parse_number(text);
  if (!index || *index > INT64_MAX) return refused(unknown_id("task", text));
  return then(core::lane_key(ex.req.capture("job"), static_cast<std::int64_t>(*index)));
}

/// Empty without a next page.
template <class Cursor>
std::string next_token(char kind, std::optional<Cursor> const& next) {
  return next ? page_token(kind, static_cast<std::uint64_t>(*next)) : std::string();
}

/// {"jobs":[…],"next_page_token":"…"}: `write_rows(out)` into the list.
template <class WriteRows>
response page_response(std::string_view name, std::string_view next, WriteRows const& write_rows) {
  return json_response(json_line([&](json_out& out) {
    auto const object = out.object();
    out.key(name).begin_array();
    write_rows(out);
    out.end_array();
    if (!next.empty()) out.key("next_page_token").string(next);
  }));
}

/// Tells a page of the core.
struct as_page {
  std::string_view name;
  char kind;  // of its tokens

  template <class Page>
  response operator()(Page const& page) const {
    return page_response(name, next_token(kind, page.next), [&page](json_out& out) {
      for (auto const& item : page.items) write(out, item);
    });
  }
};

}  // namespace muster::web
