# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts that run tests: which tests there are, what they need, and running them.
# shellcheck shell=bash
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The callers' choice. A test is "WHAT, WAY": with `few_ways`, one that is also run with the MPI library alone is run in that way and
# on two nodes, where it is run there; the other ways are left out.
name='' quick=0 few_ways=0
builds=() # the folders in which tests ran, for scripts/tally

# Says at which minute a part begins, so that everybody sees what takes long.
heading() { printf '\n== %s (at %d:%02d)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }

# The tests of a build folder that NAME and --quick leave, whose suites or names an expression matches, one a line.
tests_of() { list names "$@"; }
# What ninja has to make for them.
needs_of() { list needs "$@"; }

list() { # names | needs, build folder, suites or tests
  "$python" - "$@" "$name" "$quick" "$few_ways" <<'PYTHON'
import collections, json, os, re, sys
what, build, suites, name, quick, few_ways = sys.argv[1:]
read = lambda kind: json.load(open(f"{build}/meson-info/intro-{kind}.json"))
tests = read("tests")
ways = collections.defaultdict(set)
for test in tests:
    program, _, way = test["name"].partition(", ")
    ways[program].add(way.split(",")[0])

def is_one_of_many(test):
    program, _, way = test["name"].partition(", ")
    kept = {"library alone", "two nodes"}
    return few_ways == "1" and kept <= ways[program] and way.split(",")[0] not in kept

needed = set()
for test in tests:
    suite = test["suite"][0].split(":")[-1]
    if any(re.fullmatch(suites, one) for one in (suite, test["name"])) and name in test["name"] and not (quick == "1" and suite == "cluster") and not is_one_of_many(test):
        needed.update(test["depends"])
        if what == "names":
            print(test["name"])
if what == "needs":
    for target in read("targets"):
        if target["id"] in needed:
            print(*(os.path.relpath(file, build) for file in target["filename"]), sep="\n")
PYTHON
}

# Builds what the tests of these suites need, and nothing else.
build_for() { # build folder, suites or tests
  local targets
  # Meson knows the tests of an edited meson.build only after this.
  ninja -C "$1" --quiet build.ninja
  mapfile -t targets < <(needs_of "$1" "$2")
  ninja_targets "$1" tests/rig/contained "${targets[@]}"
}

# Half as many tests as processors: most have several ranks and helpers. Twice as many at a time end hardly sooner, and take a
# seventh (MPICH) or a quarter (Open MPI) more processor time, which is what compiling for the sanitizers meanwhile goes without.
# Tests under sanitizers mostly have one thread, and run beside the others at a lower priority.
jobs_at_a_time() { # build folder
  local processors
  processors=$(nproc)
  case $1 in
    *-asan | *-tsan) echo "$processors" ;;
    *) echo $((processors > 1 ? processors / 2 : 1)) ;;
  esac
}

run_tests() { # build folder, suites or tests, options of meson's
  local tests build=$1
  # Results that an earlier run left would be taken for this run's.
  rm -f "$build"/*.xml "$build"/meson-logs/testlog*
  mapfile -t tests < <(tests_of "$build" "$2")
  shift 2
  if [[ ${#tests[@]} -eq 0 ]]; then
    return
  fi
  builds+=("$build")
  "$meson" test -C "$build" --num-processes "$(jobs_at_a_time "$build")" --print-errorlogs "$@" "${tests[@]}" || true
}
