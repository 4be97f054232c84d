// A closure is BLOCKED until the closures it needs have succeeded.
#include "server/core/api/placeholders.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {

std::string text(closure_id id);  // defined by the coordinator
namespace {

closure_spec needing(cluster& c, std::vector<input_ref> inputs, closure_options o = {}) {
  auto spec = c.specs({"f"}).front();
  spec.extras = std::make_shared<closure_extras>(closure_extras{o, std::move(inputs)});
  return spec;
}

input_ref of(closure_id id) {
  return {id, 0};
}

std::vector<std::string> inputs_sent(cluster const& c) {
  std::vector<std::string> texts;
  for (auto const& a : c.fx().assignments)
    if (a.inputs)
      for (auto const& b : *a.inputs) texts.emplace_back(b.view());
  return texts;
}

TEST(inputs, a_closure_waits_for_its_inputs_and_gets_their_values) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const producers = c.open({"f", "f"});
  auto const job = c.open_with({needing(c, {of(producers[1]), of(producers[0])})});
  EXPECT_EQ(c.state(job[0]), closure_state::blocked);
  EXPECT_EQ(c.job(job.id).counts.blocked, 1u);
  c.succeed(w, producers[0], "10");
  EXPECT_EQ(c.state(job[0]), closure_state::blocked);
  c.succeed(w, producers[1], "20");
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  EXPECT_EQ(inputs_sent(c), (std::vector<std::string>{"20", "10"}));
}

TEST(inputs, value_of_a_deleted_job_is_kept_for_its_dependents) {
  cluster c;
  auto const w = c.attach();
  auto const producer = c.open({"f"});
  c.succeed(w, producer[0], "7");
  c.open({"f"});  // keeps the worker busy
  auto const job = c.open_with({needing(c, {of(producer[0])})});
  EXPECT_TRUE(c.status_of(delete_session{{}, producer.id}).ok());
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  c.succeed(w, c.held(w).at(0));
  EXPECT_EQ(inputs_sent(c), (std::vector<std::string>{"7"}));
}

TEST(inputs, attempt_after_a_lost_worker_receives_the_inputs_again) {
  cluster c;
  auto const first = c.attach();
  auto const producer = c.open({"f"});
  c.succeed(first, producer[0], "7");
  c.open_with({needing(c, {of(producer[0])})});
  c.lose(first);
  c.attach();
  EXPECT_EQ(inputs_sent(c), (std::vector<std::string>{"7"}));
}

TEST(inputs, closures_of_one_request_refer_to_each_other_by_position) {
  cluster c;
  auto const w = c.attach();
  auto specs = c.specs({"f"});
  specs.push_back(needing(c, {{{}, 0}}));
  specs.push_back(needing(c, {{{}, 0}, {{}, 1}}));
  auto const job = c.open_with(std::move(specs));
  EXPECT_EQ(c.job(job.id).counts.blocked, 2u);
  c.succeed(w, job[0], "1");
  c.succeed(w, job[1], "2");
  EXPECT_EQ(inputs_sent(c), (std::vector<std::string>{"1", "2"}));
  c.succeed(w, job[2], "3");
  EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
}

TEST(inputs, failed_input_fails_its_dependents) {
  cluster c;
  auto const w = c.attach();
  auto const producer = c.open({"f"});
  auto const job = c.open_with({needing(c, {of(producer[0])})});
  c.fail(w, producer[0], "no such file");
  auto const closure = c.core.closures().find(job[0]).value();
  EXPECT_EQ(closure.state, closure_state::failed);
  EXPECT_EQ(closure.error->kind, failure_kind::input);
  EXPECT_EQ(closure.error->message, "input " + text(producer[0]) + " failed: no such file");
  EXPECT_EQ(c.job(job.id).state, job_state::failed);
}

TEST(inputs, failed_input_reports_its_class_worker_and_traceback) {
  cluster c;
  auto const w = c.attach({.index = 3});
  auto const producer = c.open({"f"});
  auto const middle = c.open_with({needing(c, {of(producer[0])})});
  auto const end = c.open_with({needing(c, {of(middle[0])})});
  auto r = c.bad(w, producer[0], "no such file");
  r.failure->type = "FileNotFoundError";
  r.failure->traceback = "line 1";
  r.failure->exception = "for its client alone";
  c.answer(w, {r});
  failure const expected{failure_kind::input,
                         "FileNotFoundError",
                         "input " + text(producer[0]) + " failed: no such file",
                         "line 1",
                         "worker:3",
                         1};
  EXPECT_EQ(c.core.closures().find(middle[0])->error, expected);
  EXPECT_EQ(c.core.closures().find(end[0])->error, expected);
  auto const late = c.open_with({needing(c, {of(producer[0])})});
  EXPECT_EQ(c.core.closures().find(late[0])->error, expected);
}

TEST(inputs, exception_object_of_an_input_stays_in_its_own_error) {
  cluster c;
  auto const w = c.attach();
  auto const producer = c.open({"f"});
  auto const job = c.open_with({needing(c, {of(producer[0])})});
  auto r = c.bad(w, producer[0], "unfit", failure_kind::input);
  r.failure->exception = "pickled";
  c.answer(w, {r});
  EXPECT_EQ(c.core.closures().find(producer[0])->error->exception, "pickled");
  EXPECT_EQ(c.core.closures().find(job[0])->error->message, "unfit");
  EXPECT_EQ(c.core.closures().find(job[0])->error->exception, "");
}

TEST(inputs, long_traceback_is_truncated_to_its_end) {
  cluster c;
  auto const w = c.attach();
  auto const producer = c.open({"f"});
  auto const job = c.open_with({needing(c, {of(producer[0])})});
  auto r = c.bad(w, producer[0], "deep");
  for (int i = 0; i < 4'000; ++i) r.failure->traceback += "ü";
  r.failure->traceback += " the end";
  c.answer(w, {r});
  auto const told = c.core.closures().find(job[0])->error->traceback;
  EXPECT_LE(told.size(), 4'096u + 4);
  EXPECT_TRUE(told.starts_with("…ü") && told.ends_with("ü the end")) << told.substr(0, 8);
}

TEST(inputs, input_that_has_already_failed_fails_its_dependent_at_once) {
  cluster c;
  auto const w = c.attach();
  auto const producer = c.open({"f"});
  c.fail(w, producer[0], "no such file");
  auto specs = c.specs({"f"});
  specs.push_back(needing(c, {of(producer[0])}));
  specs.push_back(c.specs({"f"}).front());
  auto const job = c.open_with(std::move(specs));
  EXPECT_EQ(c.state(job[1]), closure_state::failed);
  EXPECT_EQ(c.state(job[0]), closure_state::cancelled);  // because of fail_fast
  EXPECT_EQ(c.state(job[2]), closure_state::cancelled);
  auto const patient =
      c.open_with({needing(c, {of(producer[0])}), c.specs({"f"}).front()}, continue_all());
  EXPECT_EQ(c.state(patient[0]), closure_state::failed);
  EXPECT_EQ(c.state(patient[1]), closure_state::running);
}

TEST(inputs, cancelled_input_fails_its_dependents) {
  cluster c;
  auto const producer = c.open({"f"});
  auto const job = c.open_with({needing(c, {of(producer[0])})});
  EXPECT_TRUE(c.status_of(cancel_closure{{}, producer[0]}).ok());
  EXPECT_EQ(c.core.closures().find(job[0])->error->kind, failure_kind::input);
}

TEST(inputs, a_long_chain_fails_without_nesting) {
  cluster c;
  auto const w = c.attach();
  auto specs = c.specs({"f"});
  for (std::uint32_t i = 0; i < 20'000; ++i) specs.push_back(needing(c, {{{}, i}}));
  auto const job = c.open_with(std::move(specs), continue_all());
  c.fail(w, job[0]);
  EXPECT_EQ(c.job(job.id).counts.failed, 20'001u);
  EXPECT_EQ(c.job(job.id).state, job_state::failed);
}

TEST(inputs, same_input_twice_fills_both_positions) {
  cluster c;
  auto const w = c.attach();
  auto const producer = c.open({"f"});
  c.open_with({needing(c, {of(producer[0]), of(producer[0])})});
  c.succeed(w, producer[0], "5");
  EXPECT_EQ(inputs_sent(c), (std::vector<std::string>{"5", "5"}));
}

TEST(inputs, cancelling_a_blocked_closure_or_its_job_ends_it) {
  cluster c;
  auto const producer = c.open({"f"});
  auto const one = c.open_with({needing(c, {of(producer[0])})});
  EXPECT_TRUE(c.status_of(cancel_closure{{}, one[0]}).ok());
  EXPECT_EQ(c.state(one[0]), closure_state::cancelled);
  auto const other = c.open_with({needing(c, {of(producer[0])})});
  EXPECT_TRUE(c.status_of(cancel_session{{}, other.id}).ok());
  EXPECT_EQ(c.job(other.id).state, job_state::cancelled);
  auto const w = c.attach();
  c.succeed(w, producer[0]);  // its consumers are cancelled
}

TEST(inputs, failed_input_of_a_stream_closure_yields_an_outcome) {
  cluster c;
  auto const w = c.attach();
  auto const producer = c.open({"f"});
  auto const s = c.stream();
  auto spec = needing(c, {of(producer[0])});
  spec.token = 99;
  c.step(schedule{{}, s, {spec}});
  c.fail(w, producer[0], "no");
  ASSERT_EQ(c.fx().outcomes.size(), 1u);
  EXPECT_EQ(c.fx().outcomes[0].token, 99u);
  EXPECT_EQ(c.fx().outcomes[0].failure->kind, failure_kind::input);
}

TEST(inputs, invalid_reference_is_refused_by_name) {
  cluster c;
  auto const refused = [&](std::vector<input_ref> inputs) {
    std::vector<closure_spec> specs = c.specs({"f"});
    specs.push_back(needing(c, std::move(inputs)));
    return c.status_of(open_session{{}, {}, std::move(specs)});
  };
  EXPECT_EQ(refused({{closure_id{0x100000fff}, 0}}).code, code::not_found);
  EXPECT_EQ(refused({{{}, 1}}).message,
            "closures[1].args: refer to position 1, which is not an earlier closure of the "
            "request");
  EXPECT_EQ(refused(std::vector<input_ref>(1'001)).message,
            "closures[1].args: refer to 1001 RemoteValues; the limit is 1000");
}

TEST(inputs, bytes_are_passed_with_bytes_arguments_and_not_put_into_json) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const producers = c.open({"f", "f"});
  auto spec = needing(c, {{producers[0], 0, beside_pickled}, of(producers[1])});
  spec.args = blob("call", encoding::bytes);
  auto const beside = c.open_with({spec});
  auto const in_json = c.open_with({needing(c, {of(producers[0])})});
  auto result = c.good(w, producers[0]);
  result.value = blob("\xfe", encoding::bytes);
  c.answer(w, {result});
  ASSERT_EQ(c.state(in_json[0]), closure_state::failed);
  auto const error = c.core.closures().find(in_json[0])->error;
  EXPECT_EQ(error->kind, failure_kind::input);
  EXPECT_EQ(error->message, "input " + text(producers[0]) +
                                " is bytes (raw, or a pickled Python value), which cannot be part "
                                "of the JSON arguments of 'f'");
  c.succeed(w, producers[1], "20");
  EXPECT_EQ(c.state(beside[0]), closure_state::running);
  auto const& sent = c.fx().assignments.at(0);
  EXPECT_EQ(sent.args, blob("call", encoding::bytes));
  EXPECT_EQ(*sent.inputs, (std::vector<blob>{blob("\xfe", encoding::bytes), blob("20")}));
  EXPECT_EQ(sent.extras->inputs[0].offset, beside_pickled);
  EXPECT_EQ(sent.extras->inputs[1].offset, beside_opaque);
}

TEST(inputs, leave_no_gaps_in_bytes) {
  cluster c;
  auto const producer = c.open({"f"});
  auto bytes = needing(c, {{producer[0], 0, 2}});
  bytes.args = blob("call", encoding::bytes);
  EXPECT_EQ(c.status_of(open_session{{}, {}, {bytes}}).message,
            "closures[0].args: the offsets of inputs must be in ascending order, and within the "
            "arguments");
}

TEST(inputs, inputs_of_bytes_arguments_have_the_same_limit) {
  config small;
  small.input_bytes_max = 10;
  cluster c(small);
  auto const w = c.attach();
  auto const producer = c.open({"f"});
  auto beside = needing(c, {of(producer[0]), of(producer[0])});
  beside.args = blob("call", encoding::bytes);
  auto const job = c.open_with({beside});
  c.succeed(w, producer[0], "123456");
  EXPECT_EQ(c.state(job[0]), closure_state::failed);
  EXPECT_EQ(c.core.closures().find(job[0])->error->message,
            "the inputs have 12 bytes, the limit is 10");
}

TEST(inputs, explain_names_the_missing_input) {
  cluster c;
  auto const producer = c.open({"f"});
  auto const job = c.open_with({needing(c, {of(producer[0])})});
  c.wait(2s);
  auto const why = c.why(job[0]);
  EXPECT_EQ(why.why, closure_reason::input_not_ready);
  EXPECT_EQ(why.lasted, 2s);
  EXPECT_EQ(why.inputs, 1u);
  EXPECT_EQ(why.inputs_missing, 1u);
  EXPECT_EQ(why.input, producer[0]);
  EXPECT_EQ(why.input_state, closure_state::queued);
}

TEST(inputs, blocked_closures_take_room_in_the_queue) {
  cluster c;
  auto const producer = c.open({"f"});
  auto spec = left_open();
  spec.queue_capacity = 2;
  auto const job =
      c.open_with({needing(c, {of(producer[0])}), needing(c, {of(producer[0])})}, spec);
  EXPECT_EQ(c.status_of(schedule{{}, job.id, c.specs({"f"})}).code, code::resource_exhausted);
}

}  // namespace
}  // namespace muster::core
