# Precompiles the external headers that most sources of a kind include; parsing them repeatedly took half the time of a cold
# build. Sources still include what they use; -DMUSTER_PRECOMPILED=OFF builds without. Kinds:
#   std        the standard library
#   json       std and Boost.JSON
#   asio       json and Asio's coroutines
#   grpc       asio, gRPC, Protobuf and the wire protocol of this project
#   cli        json and CLI11
#   test, asio_test, grpc_test   GoogleTest on top of std, asio, grpc
option(MUSTER_PRECOMPILED "parse the headers that many sources share once" ON)

if(MUSTER_PRECOMPILED)
  # GCC 12 forgets in a precompiled header which of its lines are a system's, and then reports its
  # known false alarms about inlined strings and vectors. Builds without keep these warnings.
  target_compile_options(muster_options INTERFACE
    $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-maybe-uninitialized;-Wno-error=invalid-pch>>)
endif()

set(precompiled_std <algorithm> <array> <charconv> <chrono> <cstdint> <deque> <functional> <map>
    <memory> <optional> <random> <set> <span> <string> <string_view> <unordered_map> <utility>
    <variant> <vector> <boost/system/result.hpp>)
set(precompiled_json ${precompiled_std} <boost/json.hpp>)
set(precompiled_asio ${precompiled_json} <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp>
    <boost/asio/co_spawn.hpp> <boost/asio/experimental/awaitable_operators.hpp>
    <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp>
    <boost/asio/steady_timer.hpp> <boost/asio/this_coro.hpp> <boost/asio/use_awaitable.hpp>)
set(precompiled_grpc ${precompiled_asio} <grpcpp/alarm.h> <grpcpp/create_channel.h>
    <grpcpp/generic/generic_stub.h> <grpcpp/grpcpp.h> <grpcpp/server_builder.h>
    <grpcpp/support/byte_buffer.h> <google/protobuf/arena.h> <google/protobuf/repeated_field.h>
    <google/protobuf/extension_set.h> <google/protobuf/generated_message_reflection.h>
    <google/protobuf/message.h>)
set(precompiled_cli ${precompiled_json} <CLI/CLI.hpp>)
set(precompiled_test ${precompiled_std} <gtest/gtest.h>)
set(precompiled_asio_test ${precompiled_asio} <gtest/gtest.h>)
set(precompiled_grpc_test ${precompiled_grpc} <gtest/gtest.h>)

set(precompiled_libs_json Boost::json)
set(precompiled_libs_asio Boost::json)
set(precompiled_libs_grpc Boost::json gRPC::grpc++ protobuf::libprotobuf)
set(precompiled_libs_cli Boost::json CLI11::CLI11)
set(precompiled_libs_test GTest::gtest)
set(precompiled_libs_asio_test ${precompiled_libs_asio} GTest::gtest)
set(precompiled_libs_grpc_test ${precompiled_libs_grpc} GTest::gtest)

# Tests are compiled plainly in the release build, which takes half the time; what they test is not.
# Those of the core search through millions of states: at -O0 that takes longer than they may.
function(muster_kind_options target kind)
  if(kind MATCHES "test$" AND CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE $<IF:$<STREQUAL:${kind},test>,-O1,-O0>)
  endif()
endfunction()

# The target that owns a kind is made when the first one asks for it.
function(muster_precompiled target kind)
  muster_kind_options(${target} "${kind}")
  if(NOT MUSTER_PRECOMPILED OR NOT kind)
    return()
  endif()
  set(owner muster_precompiled_${kind})
  if(NOT TARGET ${owner})
    set(source ${CMAKE_BINARY_DIR}/precompiled/${kind}.cpp)
    file(WRITE ${source} "// Owns the precompiled headers of its kind.\n")
    add_library(${owner} OBJECT ${source})
    target_link_libraries(${owner} PRIVATE muster_options Boost::headers Threads::Threads
                                           ${precompiled_libs_${kind}})
    muster_kind_options(${owner} ${kind})
    target_precompile_headers(${owner} PRIVATE ${precompiled_${kind}})
    target_compile_options(${owner} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)  # compiled as libraries are, since -fPIE and -fPIC do not share
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()
