# Compiler settings shared by every target, and the two helpers that create targets:
#   muster_library(NAME SOURCES … LIBS … PRECOMPILED … APART …) a static library with the project's warnings
#   muster_test(NAME SOURCES … LIBS … LABELS … PRECOMPILED … APART … COST … SERIAL) one GoogleTest binary, whose cases
#   are registered with ctest. ctest starts with the highest COST, and runs SERIAL tests alone.
# PRECOMPILED names the headers that the target's sources share (see precompiled.cmake). Several sources of a target
# are compiled together; APART names sources that are compiled separately, because they define conflicting names.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(MUSTER_CCACHE ccache)
if(MUSTER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache refuses precompiled headers unless it is told that their time stamps do not matter.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${MUSTER_CCACHE})
endif()

add_library(muster_options INTERFACE)
target_compile_features(muster_options INTERFACE cxx_std_20)
# Applies to all targets, because sources that share precompiled headers must be compiled alike.
target_compile_options(muster_options INTERFACE $<BUILD_INTERFACE:-pthread>)
# GCC 12 wrongly reports a mismatch for Asio's recycled coroutine frames (aligned_new, then a sized delete).
target_compile_options(muster_options INTERFACE
  $<BUILD_INTERFACE:-Wall;-Wextra;-Wpedantic;-Wnon-virtual-dtor;-Werror;-Wno-mismatched-new-delete>)
target_include_directories(muster_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)

if(MUSTER_SANITIZE)
  add_compile_options(-fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(MUSTER_SANITIZE MATCHES address)
    # AddressSanitizer reports null pointers and accesses beyond an object itself. Without these checks of
    # UBSan, a source of the core compiles in 10 instead of 16 CPU seconds.
    add_compile_options(-fno-sanitize=null,object-size,alignment)
  endif()
  add_link_options(-fsanitize=${MUSTER_SANITIZE})
  if(MUSTER_SANITIZE MATCHES thread)  # GCC's ThreadSanitizer does not support fences; Asio's locks order the same accesses without them
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()

# Code that libFuzzer can follow; tests/fuzz links its targets with libFuzzer.
option(MUSTER_FUZZ "build the fuzz targets with libFuzzer, which needs clang" OFF)
if(MUSTER_FUZZ)
  set(MUSTER_FUZZ_ENGINE -fsanitize=fuzzer CACHE STRING "link options or library of the fuzzing engine")
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

include(precompiled)

# GCC's garbage collector takes a sixth of its time. Without it, GCC needs a third more memory.
add_compile_options($<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:--param=ggc-min-heapsize=4000000>)

# Most of the time of a source is spent on instantiations of its headers, which are the same in each source of a target.
option(MUSTER_TOGETHER "compile the sources of a target several at a time" ON)
if(MUSTER_TOGETHER)  # then warnings cannot distinguish a source's own types and names from those of a header
  target_compile_options(muster_options INTERFACE
    $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wshadow=local;-Wno-subobject-linkage>>)
else()
  target_compile_options(muster_options INTERFACE $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wshadow>>)
endif()
# Clang 19 reports that std::stable_sort of libstdc++ 12 uses a deprecated function.
target_compile_options(muster_options INTERFACE $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>>)
# The table of guarded connections has a million entries, each a step of its constant initialization.
target_compile_options(muster_options INTERFACE $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:Clang>:-fconstexpr-steps=8000000>>)

function(muster_together target apart)
  if(MUSTER_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
    set_source_files_properties(${apart} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

function(muster_library name)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "SOURCES;LIBS;APART" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC muster_options ${ARG_LIBS})
  muster_precompiled(${name} "${ARG_PRECOMPILED}")
  muster_together(${name} "${ARG_APART}")
endfunction()

# Each label has a target that builds its tests: tests_of_core, tests_of_web, …
function(muster_test name)
  cmake_parse_arguments(ARG "SERIAL" "TIMEOUT;PRECOMPILED;COST;FILTER" "SOURCES;LIBS;LABELS;APART;PROPERTIES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(MUSTER_SANITIZE)  # ThreadSanitizer makes the pure core ten times slower
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 10")
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED test)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE muster_options ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  muster_precompiled(${name} ${ARG_PRECOMPILED})
  muster_together(${name} "${ARG_APART}")
  include(GoogleTest)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_FILTER "${ARG_FILTER}"
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}" COST ${ARG_COST} RUN_SERIAL ${ARG_SERIAL} ${ARG_PROPERTIES})
  foreach(label IN LISTS ARG_LABELS)
    if(NOT TARGET tests_of_${label})
      add_custom_target(tests_of_${label})
    endif()
    add_dependencies(tests_of_${label} ${name})
  endforeach()
endfunction()
