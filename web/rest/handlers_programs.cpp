#include "base/text.hpp"
#include "server/core/programs/controller.hpp"
#include "server/hub/access/use.hpp"
#include "server/hub/blob_store.hpp"
#include "server/hub/id_parsing.hpp"
#include "server/torch/torch_stores.hpp"
#include "web/json/attempt_json.hpp"
#include "web/json/program_json.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/idempotency_key.hpp"

namespace muster::web {

namespace {

constexpr auto states = all_names<core::program_state>();
constexpr std::uint32_t log_bytes_default = 64 << 10, log_bytes_max = 256 << 10;

// Page limit. The commands of a single program can take 4 MiB, so a page can contain few programs.
constexpr std::size_t page_bytes_max = std::size_t{4} << 20;

std::size_t bytes_of(core::program_view const& p) {
  auto bytes = p.spec.metadata.size();
  auto const add = [&bytes](std::vector<std::string> const& texts) {
    for (auto const& t : texts) bytes += t.size();
  };
  add(p.spec.command);
  for (auto const& t : p.spec.tasks) add(t.command);
  for (auto const& [name, value] : p.spec.env) bytes += name.size();
  if (p.cause) add(p.cause->stderr_lines);
  return bytes;
}

void name_clusters(server::hub& h, core::program_view& p) {
  p.cluster = h.state().configuration().cluster;
  p.coordination_cluster = h.programs().cluster_of(p.id);
  p.hang = h.programs().doctor().hang_of(p.id);
}

muster::result<core::program_view> shown(server::hub& h, core::program_id id) {
  auto p = h.state().programs().find(id);
  if (!p) return p;
  name_clusters(h, *p);
  h.programs().steps().fill(*p, true);
  core::describe_losses(*p, h.now());
  return p;
}

struct submitted_program {
  core::program_view program;
  bool created = true;
};

response submitted(submitted_program const& s) {
  // Status 200 means that a program with this idempotency key already existed.
  auto r = json_response(to_text(s.program), s.created ? 201 : 200);
  r.headers.emplace_back("Location", "/api/v1/programs/" + core::text(s.program.id));
  return r;
}

// A value that only the core rejects is answered with 422.
problem program_problem(muster::status const& s) {
  auto p = to_problem(s);
  if (!s.field.empty() && p.status == 400) p.status = 422;
  return p;
}

// Extends the lifetime of an uploaded blob until the program refers to it.
coro::task<std::optional<problem>> check_upload(web_context& context, std::string const& hex) {
  auto const hash = server::blob_hash_of(hex);
  if (hash.empty()) co_return std::nullopt;  // the core reports a malformed hash
  auto work = [hash](engine_services& services) { return services.blobs.lease(hash); };
  auto const there = co_await context.engine.on_engine(std::move(work));
  if (!there) co_return problem(to_problem(there.error()));
  if (*there) co_return std::nullopt;
  co_return impossible(
      "upload", "the server does not have this blob; upload it with PUT /api/v1/blobs/" + hex);
}

// The server is preferred if it has a store for the cluster, because a store at rank 0 stops when
// that rank exits.
core::store_place usual_store(engine_services& services, server::hub& h) {
  auto const name = h.cluster().empty() ? std::string_view("default") : h.cluster();
  auto const cluster = find_cluster(services, name);
  bool const has =
      services.torch && cluster && services.torch->has(static_cast<std::uint64_t>(*cluster));
  return has ? core::store_place::server : core::store_place::rank0;
}

coro::task<response> submit_program(web_context& context, exchange& ex) {
  json_check check;
  json_ref const body(ex.req.body);
  auto const request = std::make_shared<program_request>(read_program(check, body));
  if (check.failed()) co_return problem_response(check.failure());
  if (auto const p = check_cluster(context, ex.req, request->cluster))
    co_return problem_response(*p);
  if (auto p = check_function(ex.req, "muster.exec")) {
    p->field = "command";
    p->detail = "programs run commands on workers, which token '" + ex.req.who->id +
                "' does not allow: create a token with --allow-exec";
    co_return problem_response(*p);
  }
  if (auto const p = take_idempotency_key(ex.req, request->spec.idempotency_key))
    co_return problem_response(*p);
  if (!request->spec.idempotency_key.empty()) request->spec.request_digest = request_digest(body);
  if (ex.req.who) request->spec.submitted_by = ex.req.who->id;
  auto const is_repeated = [request](server::hub& h) {
    return h.state().programs().has_key(request->spec.submitted_by, request->spec.idempotency_key);
  };
  auto known = [request, is_repeated](engine_services& services) -> muster::result<bool> {
    auto const pool = services.pools.named(request->cluster);
    if (!pool) return pool.error();
    if (request->store == core::store_place::server && !services.torch)
      return wrong_field("store", "this server provides no TCPStores; start it with --torch", 0,
                         muster::code::unimplemented);
    request->spec.store = request->store.value_or(usual_store(services, **pool));
    return is_repeated(**pool);
  };
  auto const again = co_await context.engine.on_engine(std::move(known));
  if (!again) co_return problem_response(to_problem(again.error()));
  if (!*again)
    if (auto const p = co_await check_upload(context, request->spec.upload))
      co_return problem_response(*p);
  using answer_type = muster::result<submitted_program>;
  auto work = [request](server::hub& h, answer_handle<answer_type> const& slot) {
    core::submit_program e;
    e.spec = std::move(request->spec);
    h.ask(std::move(e), [&h, slot](core::reply const& r) {
      if (!r.status.ok()) return slot->send(r.status);
      auto const& made = std::get<core::program_reply>(r.body);
      auto view = shown(h, made.program);
      view ? slot->send(submitted_program{std::move(*view), made.created})
           : slot->send(view.error());
    });
  };
  target at = request->cluster;
  auto added = [is_repeated, ranks = core::most_ranks(request->spec)](server::hub& h) {
    return is_repeated(h) ? added_entries{} : added_entries{1, ranks};
  };
  auto const now = co_await context.engine.call<answer_type>(
      with_room_for(ex.req.who, std::move(at), std::move(added), std::move(work)));
  co_return now ? submitted(*now) : problem_response(program_problem(now.error()));
}

coro::task<response> list_programs(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const before = core::program_id{query.page_token('g')};
  std::optional<core::program_state> state;
  for (std::size_t i = 0; i < enum_size<core::program_state>; ++i)
    if (equal_ignoring_case(query.text("state"), states[i])) state = core::program_state(i);
  auto work = [before, limit, state, text = std::string(query.text("q"))](server::hub& h) {
    core::page<core::program_view, core::program_id> page;
    auto last = before;
    for (std::size_t bytes = 0; page.items.size() < limit && bytes < page_bytes_max;) {
      auto one = h.state().programs().list(last, 1, state, text);
      if (one.empty()) return page;
      last = one.front().id;
      bytes += bytes_of(one.front());
      name_clusters(h, one.front());
      h.programs().steps().fill(one.front(), false);
      page.items.push_back(std::move(one.front()));
    }
    page.next = last;
    return page;
  };
  return respond_with(context, in_pool_named(ex, std::move(work)), as_page{"programs", 'g'});
}

template <class Look>
coro::task<response> look_at(web_context& context, exchange& ex, Look one) {
  return with_id(ex, "program", server::parse_program,
                 [&context, one](core::program_id id) { return one(context, id); });
}

coro::task<response> get_program(web_context& context, exchange& ex) {
  return look_at(context, ex, [](web_context& c, core::program_id id) {
    return respond_with(c, in_pool_of(id, [id](server::hub& h) { return shown(h, id); }));
  });
}

struct rank_list {
  std::vector<core::rank_view> ranks;
};
void members(member_list const& m, rank_list const& l) {
  m("ranks", l.ranks);
}
// Log lines of workers that reply later are omitted.
constexpr std::chrono::milliseconds last_lines_wait{1000};

coro::task<void> await_last_lines(web_context& context, core::program_id id) {
  auto work = [id](server::hub& h, answer_handle<bool> const& slot) {
    auto const p = h.state().programs().find(id);
    if (!p) return slot->send(false);
    h.workers().refresh_lines(h.now(), {id, p->attempt, p->ranks}, [slot] { slot->send(true); });
  };
  (void)co_await context.engine.call<bool>(in_pool_of(id, std::move(work)), last_lines_wait,
                                           nullptr);
}

coro::task<response> answer_ranks(web_context& context, core::program_id id, bool last_lines) {
  if (last_lines) co_await await_last_lines(context, id);
  auto work = [id, last_lines](server::hub& h) -> muster::result<rank_list> {
    auto const& programs = h.state().programs();
    auto all = programs.ranks(id);
    if (!all) return all.error();
    auto const attempt = programs.find(id)->attempt;
    h.programs().steps().fill(id, attempt, *all);
    if (last_lines) h.workers().lines().fill(id, attempt, *all);
    return rank_list{std::move(*all)};
  };
  co_return co_await respond_with(context, in_pool_of(id, std::move(work)));
}

coro::task<response> get_ranks(web_context& context, exchange& ex) {
  bool const last_lines = query_check(ex.req).flag("last_lines");
  return look_at(context, ex, [last_lines](web_context& c, core::program_id id) {
    return answer_ranks(c, id, last_lines);
  });
}

struct attempt_list {
  std::vector<core::program_attempt_view> attempts;
};
void members(member_list const& m, attempt_list const& l) {
  m("attempts", l.attempts);
}

coro::task<response> get_attempts(web_context& context, exchange& ex) {
  return with_id(ex, "program", server::parse_program, [&context](core::program_id id) {
    auto work = [id](server::hub& h) -> muster::result<attempt_list> {
      auto all = h.state().programs().attempts_of(id);
      if (!all) return all.error();
      return attempt_list{std::move(*all)};
    };
    return respond_with(context, in_pool_of(id, std::move(work)));
  });
}

muster::result<attempt_detail> detail(server::hub& h, core::program_id id, std::uint64_t number) {
  auto all = h.state().programs().attempts_of(id);
  if (!all) return all.error();
  for (auto& about : *all) {
    if (about.attempt != number) continue;
    auto const* record = h.programs().records().find({id, about.attempt});
    attempt_detail found{std::move(about), record ? *record : core::attempt_record{}};
    for (auto const& r : found.record.ranks) found.ranks.emplace(r.task, r.rank);
    auto const& programs = h.state().programs();
    for (std::uint32_t rank = 0; rank < found.about.ranks; ++rank)
      if (auto task = programs.task_of({id, found.about.attempt, rank}); !task.empty())
        found.ranks.emplace(std::move(task), rank);
    return found;
  }
  return muster::status{code::not_found, core::text(id) + " has no attempt " +
                                             std::to_string(number) +
                                             ", or that attempt was removed"};
}

coro::task<response> get_attempt(web_context& context, exchange& ex) {
  auto const text = ex.req.capture("attempt");
  auto const number = parse_number(text);
  if (!number) return refused(unknown_id("attempt", text));
  return with_id(ex, "program", server::parse_program,
                 [&context, number = *number](core::program_id id) {
                   auto work = [id, number](server::hub& h) { return detail(h, id, number); };
                   return respond_with(context, in_pool_of(id, std::move(work)));
                 });
}

coro::task<response> get_log(web_context& context, exchange& ex) {
  query_check query(ex.req);
  server::rank_log_query q;
  q.rank.rank = static_cast<std::uint32_t>(query.number("rank", 0));
  q.rank.attempt = static_cast<std::uint32_t>(query.number("attempt", 0));
  q.offset = query.number("offset", 0);
  q.from_end = query.flag("from_end");
  q.bytes_max = static_cast<std::uint32_t>(query.number("bytes", log_bytes_default));
  return with_id(ex, "program", server::parse_program, [&context, q](core::program_id id) {
    auto work = [id, q](server::hub& h, auto const& slot) {
      auto const p = h.state().programs().find(id);
      if (!p) return slot->send(p.error());
      auto asked = q;
      asked.rank.program = id;
      if (asked.rank.attempt == 0) asked.rank.attempt = p->attempt;
      auto named = [slot, task = h.state().programs().task_of(asked.rank)](
                       muster::result<server::rank_log> log) {
        if (log) log->task = task;
        slot->send(std::move(log));
      };
      h.workers().read_log(asked, std::move(named));
    };
    return ask<server::rank_log>(context, in_pool_of(id, std::move(work)));
  });
}

template <core::program_command wish>
coro::task<response> change(web_context& context, exchange& ex) {
  return with_id(ex, "program", server::parse_program, [&context](core::program_id id) {
    auto work = [id](server::hub& h, auto const& slot) {
      core::change_program e{{}, id, wish};
      h.ask(e, [&h, slot, id](core::reply const& r) {
        r.status.ok() ? slot->send(shown(h, id)) : slot->send(r.status);
      });
    };
    return ask<core::program_view>(context, in_pool_of(id, std::move(work)));
  });
}

// Responds when the ranks have received the step at which they will stop.
coro::task<response> stop_at_step(web_context& context, exchange& ex, std::uint64_t least) {
  return with_id(ex, "program", server::parse_program, [&context, least](core::program_id id) {
    auto work = [id, least](server::hub& h, auto const& slot) {
      h.programs().steps().stop(id, least,
                                [&h, slot, id](muster::result<std::uint64_t> const& step) {
                                  step ? slot->send(shown(h, id)) : slot->send(step.error());
                                });
    };
    return ask<core::program_view>(context, in_pool_of(id, std::move(work)));
  });
}

coro::task<response> stop_program(web_context& context, exchange& ex) {
  if (ex.req.body.empty()) return change<core::program_command::stop>(context, ex);
  json_check check;
  json_ref const body(ex.req.body);
  auto const request = read_stop(check, body);
  if (check.failed()) return refused(check.failure());
  if (!request.at_step) return change<core::program_command::stop>(context, ex);
  return stop_at_step(context, ex, *request.at_step);
}

coro::task<response> delete_program(web_context& context, exchange& ex) {
  return with_id(ex, "program", server::parse_program, [&context](core::program_id id) {
    auto work = [id](server::hub& h, auto const& slot) {
      core::change_program e{{}, id, core::program_command::forget};
      h.ask(e, [slot](core::reply const& r) { slot->send(r.status); });
    };
    return order(context, in_pool_of(id, std::move(work)));
  });
}

}  // namespace

void add_program_routes(std::vector<route>& to) {
  to.push_back(
      post("/api/v1/programs", submit_program, "submitProgram",
           "Run a program as ranks on workers that permit programs")
          .takes(
              body_kind::json, "ProgramRequest",
              R"({"name":"train","command":["python","train.py"],"working_dir":"/srv/train","tasks":{"worker":8},"max_restarts":3})")
          .takes_idempotency_key()
          .responds_with("ProgramView", schema_of<core::program_view>, 201)
          .also(200, "The program that was submitted earlier with this idempotency_key",
                "ProgramView")
          .also(404, "No such cluster")
          .also(
              422,
              "The request is well-formed but cannot be carried out; `field` identifies the cause. "
              "With `idempotency_key`: the key was used with another body")
          .also(429, "The server or the token has too many unfinished programs"));
  to.push_back(
      get("/api/v1/programs", list_programs, "listPrograms", "List programs, newest first")
          .with({choice_parameter("state", states, "only programs in this state"),
                 {"q", query_kind::text,
                  "only programs whose name or id contains this text; case-insensitive"},
                 cluster_parameter,
                 limit_parameter,
                 page_token_parameter("g")})
          .responds_with("ProgramPage", [] { return page_schema("programs", "ProgramView"); })
          .also(404, "No such cluster"));
  to.push_back(get("/api/v1/programs/{id}", get_program, "getProgram", "Get a program")
                   .responds_with("ProgramView"));
  to.push_back(remove("/api/v1/programs/{id}", delete_program, "deleteProgram",
                      "Delete a program that has ended")
                   .also(409, "The program has not ended"));
  to.push_back(get("/api/v1/programs/{id}/ranks", get_ranks, "listRanks",
                   "List the ranks of the last attempt, by number")
                   .with({{"last_lines", query_kind::flag,
                           "ask the workers for the last line of each rank; takes at most 1 s"}})
                   .responds_with("RankList", schema_of<rank_list>));
  to.push_back(get("/api/v1/programs/{id}/attempts", get_attempts, "listAttempts",
                   "List the newest attempts, oldest first")
                   .responds_with("AttemptList", schema_of<attempt_list>));
  to.push_back(get("/api/v1/programs/{id}/attempts/{attempt}", get_attempt, "getAttempt",
                   "Get the record of an attempt: failures, late barriers, lost workers, stacks of "
                   "killed ranks, and the last lines of each rank")
                   .responds_with("AttemptDetail", schema_of<attempt_detail>));
  to.push_back(
      get("/api/v1/programs/{id}/logs", get_log, "getRankLog", "Get the output of a rank")
          .with({{.name = "rank",
                  .kind = query_kind::number,
                  .meaning = "rank number",
                  .max = UINT32_MAX,
                  .missing = "required: a rank number"},
                 {"attempt", query_kind::number, "attempt number; default: the last attempt", 0,
                  UINT32_MAX},
                 {"offset", query_kind::number,
                  "first byte to return, counted from the beginning; default 0"},
                 {"from_end", query_kind::flag, "true: count the offset backwards from the end"},
                 {"bytes", query_kind::number, "maximum number of bytes; default 65536", 1,
                  log_bytes_max}})
          .responds_with("RankLog", schema_of<server::rank_log>)
          .also(429, "Too many log requests are waiting for workers"));
  to.push_back(
      post("/api/v1/programs/{id}/stop", stop_program, "stopProgram",
           "Ask the ranks to stop, now or at a step; the program succeeds if all ranks exit with "
           "status 0")
          .takes(body_kind::optional_json, "StopRequest", R"({"at_step":"next"})")
          .responds_with("ProgramView")
          .also(409,
                "With at_step: the program is not running, or none of its ranks reports steps"));
  to.push_back(post("/api/v1/programs/{id}/cancel", change<core::program_command::cancel>,
                    "cancelProgram", "Cancel a program and stop its ranks")
                   .responds_with("ProgramView"));
  to.push_back(post("/api/v1/programs/{id}/restart", change<core::program_command::restart>,
                    "restartProgram",
                    "Stop the ranks and start them again; does not count as a restart")
                   .responds_with("ProgramView")
                   .also(409, "The program is ending or has ended"));
}

}  // namespace muster::web
