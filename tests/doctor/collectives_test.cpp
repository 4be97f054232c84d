// Stacks of ranks that wait in collective operations. The stacks of JAX and torch were recorded
// from processes of these versions, by the signal that workers send.
#include <gtest/gtest.h>

#include "tests/doctor/model_ranks.hpp"

namespace muster::doctor {
namespace {

using core::hang_evidence;

struct taken_stack {
  char const* operation;  // empty: none
  char const* of;
  char const* text;
};

constexpr taken_stack taken_stacks[] = {
    {"JAX", "jax 0.10.2, sync_global_devices",
     R"(Current thread (most recent call first):
  File "/venv/lib/python3.12/site-packages/jax/experimental/multihost_utils.py", line 134 in _handle_array_process_allgather
  File "/venv/lib/python3.12/site-packages/jax/experimental/multihost_utils.py", line 158 in _pjit
  File "/venv/lib/python3.12/site-packages/jax/_src/tree_util.py", line 399 in <genexpr>
  File "/venv/lib/python3.12/site-packages/jax/_src/tree_util.py", line 399 in tree_map
  File "/venv/lib/python3.12/site-packages/jax/_src/tree.py", line 156 in map
  File "/venv/lib/python3.12/site-packages/jax/experimental/multihost_utils.py", line 159 in process_allgather
  File "/venv/lib/python3.12/site-packages/jax/experimental/multihost_utils.py", line 179 in assert_equal
  File "/venv/lib/python3.12/site-packages/jax/experimental/multihost_utils.py", line 165 in sync_global_devices
  File "/srv/j.py", line 17 in <module>
)"},
    {"JAX", "jax 0.4.38, sync_global_devices",
     R"(Current thread (most recent call first):
  File "/venv/lib/python3.12/site-packages/jax/experimental/multihost_utils.py", line 81 in broadcast_one_to_all
  File "/venv/lib/python3.12/site-packages/jax/experimental/multihost_utils.py", line 157 in assert_equal
  File "/venv/lib/python3.12/site-packages/jax/experimental/multihost_utils.py", line 89 in sync_global_devices
  File "/srv/j.py", line 17 in <module>
)"},
    {"JAX", "jax 0.12.0.1, process_allgather",
     R"(Current thread (most recent call first):
  File "/venv/lib/python3.12/site-packages/jax/_src/interpreters/pxla.py", line 420 in __call__
  File "/venv/lib/python3.12/site-packages/jax/_src/profiler.py", line 588 in wrapper
  File "/venv/lib/python3.12/site-packages/jax/_src/pjit.py", line 1172 in _pjit_call_impl_python
  File "/venv/lib/python3.12/site-packages/jax/_src/pjit.py", line 149 in _run_python_pjit
  File "/venv/lib/python3.12/site-packages/jax/_src/pjit.py", line 272 in cache_miss
  File "/venv/lib/python3.12/site-packages/jax/_src/traceback_util.py", line 194 in reraise_with_filtered_traceback
  File "/venv/lib/python3.12/site-packages/jax/experimental/multihost_utils.py", line 134 in _handle_array_process_allgather
  File "/venv/lib/python3.12/site-packages/jax/experimental/multihost_utils.py", line 158 in _pjit
  File "/venv/lib/python3.12/site-packages/jax/_src/tree_util.py", line 422 in <genexpr>
  File "/venv/lib/python3.12/site-packages/jax/_src/tree_util.py", line 422 in tree_map
  File "/venv/lib/python3.12/site-packages/jax/_src/tree.py", line 156 in map
  File "/venv/lib/python3.12/site-packages/jax/experimental/multihost_utils.py", line 159 in process_allgather
  File "/srv/j.py", line 18 in <module>
)"},
    {"JAX", "jax 0.12.0.1, a sum over the mesh",
     R"(Current thread (most recent call first):
  File "/venv/lib/python3.12/site-packages/jax/_src/interpreters/pxla.py", line 420 in __call__
  File "/venv/lib/python3.12/site-packages/jax/_src/profiler.py", line 588 in wrapper
  File "/venv/lib/python3.12/site-packages/jax/_src/pjit.py", line 1172 in _pjit_call_impl_python
  File "/venv/lib/python3.12/site-packages/jax/_src/pjit.py", line 149 in _run_python_pjit
  File "/venv/lib/python3.12/site-packages/jax/_src/pjit.py", line 272 in cache_miss
  File "/venv/lib/python3.12/site-packages/jax/_src/traceback_util.py", line 194 in reraise_with_filtered_traceback
  File "/srv/j.py", line 24 in <module>
)"},
    {"JAX", "jax 0.10.2, pmap",
     R"(Current thread (most recent call first):
  File "/venv/lib/python3.11/site-packages/jax/_src/pmap.py", line 319 in wrapped
  File "/srv/j.py", line 27 in sum
  File "/srv/j.py", line 31 in <module>
)"},
    {"JAX", "jax 0.12.0.1, initialize",
     R"(Current thread (most recent call first):
  File "/venv/lib/python3.12/site-packages/jax/_src/distributed.py", line 212 in initialize
  File "/venv/lib/python3.12/site-packages/jax/_src/distributed.py", line 405 in initialize
  File "/srv/j.py", line 9 in <module>
)"},
    {"torch.distributed", "torch 1.13, all_reduce",
     R"(Current thread (most recent call first):
  File "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py", line 1541 in all_reduce
  File "/srv/t.py", line 15 in <module>
)"},
    {"torch.distributed", "torch 1.13, barrier",
     R"(Current thread (most recent call first):
  File "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py", line 3152 in barrier
  File "/srv/t.py", line 16 in <module>
)"},
    {"torch.distributed", "torch 1.13, backward of DDP",
     R"(Current thread (most recent call first):
  File "/usr/lib/python3/dist-packages/torch/autograd/__init__.py", line 197 in backward
  File "/usr/lib/python3/dist-packages/torch/_tensor.py", line 488 in backward
  File "/srv/t.py", line 17 in <module>
)"},
    {"torch.distributed", "torch 1.13, init_process_group",
     R"(Current thread (most recent call first):
  File "/usr/lib/python3/dist-packages/torch/distributed/rendezvous.py", line 177 in _create_c10d_store
  File "/usr/lib/python3/dist-packages/torch/distributed/rendezvous.py", line 201 in _tcp_rendezvous_handler
  File "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py", line 754 in init_process_group
  File "/srv/t.py", line 6 in <module>
)"},
    {"", "a loop of its own",
     R"(Current thread (most recent call first):
  File "/srv/j.py", line 14 in stuck
  File "/srv/j.py", line 15 in <module>
)"},
    {"", "a loop of its own, with torch",
     R"(Current thread (most recent call first):
  File "/srv/t.py", line 9 in stuck
  File "/srv/t.py", line 14 in <module>
)"},
    {"MPI", "a C++ program",
     R"(Thread train (most recent call first):
  File "libc.so.6" in __poll
  File "libmpi.so.40" in PMPI_Allreduce
  File "train" in main
)"},
    {"gloo", "a C++ program",
     R"(Thread train (most recent call first):
  File "libc.so.6" in __futex_abstimed_wait_common
  File "train" in gloo::transport::tcp::UnboundBuffer::waitRecv(int*)
  File "train" in main
)"},
    {"Muster", "an agent",
     R"(Current thread (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait
  File "/venv/lib/python3.11/site-packages/muster/agent/agent.py", line 196 in barrier
  File "/srv/train.py", line 12 in <module>
)"},
    {"", "a function of the program that has such a name",
     R"(Current thread (most recent call first):
  File "/srv/mine.py", line 3 in barrier
  File "/srv/mine.py", line 9 in MPI_loop
)"},
};

TEST(stack_text, names_the_collective_it_waits_in) {
  for (auto const& s : taken_stacks) EXPECT_EQ(collective_of(s.text), s.operation) << s.of;
  // An upload can contain the package. File names are then relative to the rank's directory.
  for (std::string const file : {"muster/agent/agent.py", "horovod/common/basics.py"})
    EXPECT_NE(collective_of("Thread 0x1 (most recent call first):\n  File \"" + file +
                            "\", line 196 in " + (file.starts_with('m') ? "barrier" : "init")),
              "")
        << file;
}

constexpr char const* in_allgather =
    "\"/venv/lib/python3.12/site-packages/jax/experimental/multihost_utils.py\", line 159 in "
    "process_allgather";
constexpr char const* in_all_reduce =
    "\"/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py\", line 1541 in "
    "all_reduce";

TEST(hang_watch, of_two_ranks_with_one_in_a_collective_names_the_other) {
  model_program p(2, 2s);
  p.ranks[0].line = in_allgather;
  p.ranks[1].line = "\"train.py\", line 12 in stuck";
  ASSERT_EQ(p.run(10min), hang_change::found);
  EXPECT_EQ(p.named(), 1);
  EXPECT_EQ(p.by(), hang_evidence::collective);
  EXPECT_EQ(p.watch.found()->line, "train.py:12 in stuck");
  EXPECT_EQ(p.watch.found()->waiting_line, "train.py:90 in <module>");
}

TEST(hang_watch, of_many_ranks_in_collectives_names_the_one_outside) {
  model_program p(4, 2s);
  p.ranks[0].line = in_allgather;
  p.ranks[1].line = in_all_reduce;
  p.ranks[2].line = "\"train.py\", line 12 in load";
  p.ranks[3].line = in_all_reduce;
  ASSERT_EQ(p.run(10min), hang_change::found);
  EXPECT_EQ(p.named(), 2);
  EXPECT_EQ(p.by(), hang_evidence::collective);
}

// Most ranks are elsewhere. The rank that waits for them is the exception, but not the cause.
TEST(hang_watch, does_not_name_the_only_rank_that_waits_in_a_collective) {
  model_program p(4, 2s);
  for (auto& r : p.ranks) r.line = "\"train.py\", line 12 in load";
  p.ranks[2].line = in_all_reduce;
  ASSERT_EQ(p.run(10min), hang_change::found);
  EXPECT_EQ(p.named(), -1);
}

constexpr char const* in_shutdown =
    "\"/venv/lib/python3.11/site-packages/jax/_src/distributed.py\", line 199 in shutdown";

TEST(hang_watch, names_the_rank_at_a_barrier_if_all_absent_ranks_wait_in_a_collective) {
  model_program p(4, 2s);
  for (auto& r : p.ranks) r.line = in_allgather;
  p.ranks[2].line = in_shutdown;
  p.barriers = {{"shutdown", p.now, {}, {0, 1, 3}}};
  ASSERT_EQ(p.run(10min), hang_change::found);
  EXPECT_EQ(p.named(), 2);
  EXPECT_EQ(p.by(), hang_evidence::stack);
  EXPECT_EQ(p.watch.found()->barrier, "");
}

// A compiled function of JAX has no frame of its own.
TEST(hang_watch, names_the_rank_at_the_shutdown_barrier_if_all_others_wait_at_one_line) {
  for (bool const is_shutdown : {true, false}) {
    model_program p(4, 2s);
    p.ranks[2].line = in_shutdown;
    p.barriers = {{"shutdown", p.now, {}, {0, 1, 3}, is_shutdown}};
    ASSERT_EQ(p.run(10min), hang_change::found);
    EXPECT_EQ(p.named(), is_shutdown ? 2 : -1);
  }
}

TEST(hang_watch, names_no_rank_at_the_shutdown_barrier_while_another_rank_differs) {
  model_program p(4, 2s);
  p.ranks[1].line = "\"train.py\", line 12 in load";
  p.ranks[2].line = in_shutdown;
  p.barriers = {{"shutdown", p.now, {}, {0, 1, 3}, true}};
  ASSERT_EQ(p.run(10min), hang_change::found);
  EXPECT_NE(p.named(), 2);
}

TEST(hang_watch, names_no_rank_at_the_shutdown_barrier_while_all_others_sleep) {
  model_program p(4, 2s);
  for (auto& r : p.ranks) r.in_kernel_at = "hrtimer_nanosleep";
  p.ranks[2].in_kernel_at = "futex_wait";
  p.ranks[2].line = in_shutdown;
  p.barriers = {{"shutdown", p.now, {}, {0, 1, 3}, true}};
  ASSERT_EQ(p.run(10min), hang_change::found);
  EXPECT_NE(p.named(), 2);
}

TEST(hang_watch, names_none_if_half_of_the_ranks_wait_at_a_barrier_and_half_in_a_collective) {
  model_program p(4, 2s);
  p.ranks[0].line = p.ranks[1].line = in_allgather;
  p.ranks[2].line = p.ranks[3].line = in_shutdown;
  p.barriers = {{"shutdown", p.now, {}, {0, 1}}};
  ASSERT_EQ(p.run(10min), hang_change::found);
  EXPECT_EQ(p.named(), -1);
}

// The rank outside of a collective operation keeps the barrier and the collective waiting.
TEST(hang_watch, names_the_absent_rank_outside_of_collectives_despite_a_barrier) {
  model_program p(4, 2s);
  for (auto& r : p.ranks) r.line = in_allgather;
  p.ranks[1].line = "\"train.py\", line 12 in load";
  p.ranks[2].line = in_shutdown;
  p.barriers = {{"shutdown", p.now, {}, {0, 1, 3}}};
  ASSERT_EQ(p.run(10min), hang_change::found);
  EXPECT_EQ(p.named(), 1);
}

TEST(hang_watch, with_all_ranks_in_collectives_names_none_and_shows_two_lines) {
  model_program p(2, 2s);
  p.ranks[0].line = std::string(in_allgather) + "\n  File \"train.py\", line 40 in save";
  p.ranks[1].line = in_all_reduce;
  ASSERT_EQ(p.run(10min), hang_change::found);
  EXPECT_EQ(p.named(), -1);
  EXPECT_EQ(p.watch.found()->waiting_line,
            "train.py:40 in save (rank 0) and train.py:90 in <module> (rank 1)");
  auto h = *p.watch.found();
  EXPECT_NE(text(h).find("the ranks do not differ from each other; 2 ranks are waiting at "
                         "train.py:40 in save (rank 0) and "
                         "train.py:90 in <module> (rank 1)"),
            std::string::npos)
      << text(h);
}

}  // namespace
}  // namespace muster::doctor
