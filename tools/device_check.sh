#!/usr/bin/env bash
# The CUDA backend on a machine with a GPU: op suite, golden outputs and greedy sequences.
#   tools/device_check.sh [--sanitize] [FOLDER]   builds the preset `cuda` and checks; or checks what --pack put into FOLDER
#   tools/device_check.sh --pack FOLDER           builds the preset `cuda` and copies the test programs and their libraries,
#                                                 to be checked on a machine that lacks the packages to build them; the
#                                                 tests look for models/ where this checkout lies now
# --sanitize repeats the op suite under compute-sanitizer's four tools, and the model tests under memcheck.
set -euo pipefail
cd "$(dirname "$0")/.."

programs=(test_ops test_model)
sanitize=false
pack=false
folder=
for argument in "$@"; do
  case "$argument" in
    --sanitize) sanitize=true ;;
    --pack) pack=true ;;
    -*) sed -n '2,7p' "$0" >&2; exit 2 ;;
    *) folder=$argument ;;
  esac
done

build_tests() {
  cmake --preset cuda
  cmake --build build/cuda --target "${programs[@]}"
}

if $pack; then
  build_tests
  mkdir -p "$folder/tests" "$folder/lib"
  for program in "${programs[@]}"; do
    cp "build/cuda/tests/$program" "$folder/tests/"
    # What every machine has (libc and its like) must be that machine's own.
    ldd "build/cuda/tests/$program" | awk '$3 ~ /^\// && $1 !~ /^lib(c|m|stdc\+\+|gcc_s|pthread|dl|rt)\.so/ {print $3}' |
      xargs -r cp -Lt "$folder/lib"
  done
  exit 0
fi
if [ -z "$folder" ]; then
  build_tests
  folder=build/cuda
fi
export LD_LIBRARY_PATH="$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

nvidia-smi -L || { echo "device_check: no NVIDIA driver answers here" >&2; exit 1; }

cuda_cases='*cuda*:*Cuda*'
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs the cases $2 of test program $1 under the command that follows, if any. That none ran, or that the device was not
# seen, is a failure here.
run_cases() {
  local program=$1 cases=$2
  shift 2
  echo "== $* $program"
  "$@" "$folder/tests/$program" --gtest_filter="$cases" --gtest_brief=1 2>&1 | tee "$log"
  if grep -q 'no CUDA device' "$log" || ! grep -Eq 'PASSED  \] [1-9]' "$log"; then
    echo "device_check: $program: cuda tests were skipped or missing" >&2
    return 1
  fi
}

run_cases test_ops "$cuda_cases"
run_cases test_model "$cuda_cases"
if $sanitize; then
  # Calls that fail are checked where they are made, and some tests make them fail on purpose.
  run_cases test_ops "$cuda_cases" compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 1
  # racecheck slows thousands of draws to minutes; one draw of each kind is in the other sampling tests.
  run_cases test_ops "$cuda_cases-*SampleHasTheRightFrequencies*" compute-sanitizer --tool racecheck --error-exitcode 1
  for tool in initcheck synccheck; do
    run_cases test_ops "$cuda_cases" compute-sanitizer --tool "$tool" --error-exitcode 1
  done
  run_cases test_model "$cuda_cases" compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 1
fi
echo "device_check: all passed"
