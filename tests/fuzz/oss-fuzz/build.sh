#!/usr/bin/env bash
# Builds all fuzz targets into $OUT, with their corpora and shared libraries, as OSS-Fuzz requires.
#
# Reads the variables of OSS-Fuzz: SRC, WORK, OUT, CC, CXX, CXXFLAGS and LIB_FUZZING_ENGINE. If SYSROOT is set, headers and
# libraries are taken from this directory. MUSTER_SOURCE is the source directory, $SRC/muster by default. To run the script
# without OSS-Fuzz, with clang 19:
#
#   MUSTER_SOURCE=$PWD WORK=/tmp/work OUT=/tmp/out CC=clang-19 CXX=clang++-19 LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
#     CXXFLAGS='-O1 -g1 -fsanitize=address,fuzzer-no-link' tests/fuzz/oss-fuzz/build.sh
set -euo pipefail
source=$(cd "${MUSTER_SOURCE:-$SRC/muster}" && pwd)

# Debian's libraries use libstdc++, so the targets must use it, too.
flags="${CXXFLAGS//-stdlib=libc++/} -stdlib=libstdc++"
sysroot=()
[[ -z ${SYSROOT:-} ]] || sysroot=(-DCMAKE_SYSROOT="$SYSROOT" -DCMAKE_FIND_ROOT_PATH="$SYSROOT")
cmake --preset fuzz -S "$source" -B "$WORK/muster" "${sysroot[@]}" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
  -DCMAKE_CXX_FLAGS="$flags" -DMUSTER_SANITIZE= -DMUSTER_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" -DMUSTER_TESTS=ON \
  -DCMAKE_EXE_LINKER_FLAGS="-Wl,--disable-new-dtags,-rpath,'\$ORIGIN/lib'" -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON
cmake --build "$WORK/muster" --target fuzz_targets

mkdir -p "$OUT/lib"
for program in "$WORK"/muster/bin/fuzz_*; do
  name=$(basename "$program")
  cp "$program" "$OUT/"
  (cd "$source/tests/fuzz/corpus/${name#fuzz_}" && zip -q -r "$OUT/${name}_seed_corpus.zip" .)
  # The image that runs the targets contains the C library, but none of the other libraries.
  ldd "$program" | awk '$3 ~ /^\// {print $3}' | grep -v -E '/(libc|libm|libdl|librt|libpthread|libresolv)\.so' \
    | xargs -r cp -n -L -t "$OUT/lib"
done
