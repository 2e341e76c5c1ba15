# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the other scripts: where the repository is, and how to print messages.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# Debian's own Meson and Python, whatever else is first on PATH.
meson=/usr/bin/meson
[[ -x $meson ]] || meson=meson
python=/usr/bin/python3
[[ -x $python ]] || python=python3

# What does not depend on the MPI library is compiled once for all build folders: their names are not part of it.
export CCACHE_NOHASHDIR=1

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
complain() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
  complain "$@"
  exit 1
}

build_dir_of() { # mpich | openmpi
  if [[ $1 == mpich ]]; then
    echo build
  else
    echo "build-$1"
  fi
}

has_mpi() { # mpich | openmpi
  local module=mpich
  if [[ $1 == openmpi ]]; then
    module=ompi
  fi
  command -v "mpicc.$1" >/dev/null || pkg-config --exists "$module" 2>/dev/null
}

# Debian's library with the standard ABI, and the folder with a header for all of those; nothing if there are none.
abi_library() { # mpich | openmpi
  find "/usr/lib/$(uname -m)-linux-gnu" -maxdepth 1 -type f -name "libmpi_abi_$1.so.*" 2>/dev/null || true
}
abi_headers() {
  local libraries
  libraries=/usr/lib/$(uname -m)-linux-gnu
  find "$libraries"/{mpi_abi_mpich/include,openmpi/include/standard_abi} -name mpi.h -printf '%h\n' -quit 2>/dev/null || true
}

cross_file= # says how to build for another kind of processor: Meson's --cross-file

# Makes a build folder with these options, or gives them to one that has others. Meson 1.0 deletes stoker.mod where it is
# started in a build folder, whichever it configures.
configure() { # build folder, NAME=VALUE...
  local dir=$1 log
  shift
  if [[ ! -f $dir/build.ninja ]]; then
    say "configuring ${dir##*/}/"
    log=$(cd "$root" && "$meson" setup ${cross_file:+--cross-file "$cross_file"} "$dir" "$root" "${@/#/-D}" 2>&1) || die "$log"
  elif ! has_options "$dir" "$@"; then
    say "configuring ${dir##*/}/: $*"
    log=$("$meson" configure "$dir" "${@/#/-D}" 2>&1) || die "$log"
  fi
}

has_options() { # build folder, NAME=VALUE...
  "$python" - "$@" <<'PYTHON'
import json, sys
options = json.load(open(sys.argv[1] + "/meson-info/intro-buildoptions.json"))
text = lambda value: str(value).lower() if isinstance(value, bool) else ",".join(value) if isinstance(value, list) else value
sys.exit(not set(sys.argv[2:]) <= {f"{option['name']}={text(option['value'])}" for option in options})
PYTHON
}

# Passes lines on. Those that begin with [N/M] share one line of a terminal; elsewhere a tenth of them is enough.
progress() {
  local line tenth=-1 pending=0
  while IFS= read -r line; do
    if [[ ! $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      if [[ $pending -eq 1 ]]; then
        printf '\r\e[K'
      fi
      pending=0
      printf '%s\n' "$line"
    elif [[ -t 1 ]]; then
      printf '\r\e[K%.78s' "$line"
      pending=1
    elif [[ $((10 * BASH_REMATCH[1] / BASH_REMATCH[2])) -ne $tenth ]]; then
      tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
      printf '%s\n' "$line"
    fi
  done
  if [[ $pending -eq 1 ]]; then
    printf '\r\e[K'
  fi
}

# Builds, and shows how far it is.
ninja_targets() { # build folder, targets...
  local dir=$1
  shift
  ninja -C "$dir" --quiet build.ninja >/dev/null # all that Meson says when it reads an edited meson.build
  say "building ${dir##*/}/"
  ninja -C "$dir" "$@" | { grep --line-buffered -vE '^ninja: (Entering directory|no work to do)' || true; } | progress
}

# Our own C and C++ sources, one path a line, relative to the repository.
our_sources() {
  (cd "$root" && find algos api bench engine examples tests topology -name '*.[ch]pp' -o -name '*.[ch]' | sort)
}

# Ids of the processes that have VARIABLE=VALUE in their environment, this shell excepted. A mark in the environment finds
# what a job leaves behind even when launchers put their processes into sessions of their own.
# Reading it can block for as long as the kernel is busy with a process, hence the limit, and the youngest first.
processes_marked() { # VARIABLE=VALUE
  local environ pid
  printf '%s\n' /proc/[0-9]*/environ | sort -rV |
    { xargs timeout --signal=KILL 5 grep -lzxF --line-buffered "$1" 2>/dev/null || true; } |
    while read -r environ; do
      pid=${environ#/proc/}
      pid=${pid%/environ}
      if [[ $pid != "$$" && $pid != "$BASHPID" && -d /proc/$pid ]]; then
        echo "$pid"
      fi
    done
}

kill_marked() { # VARIABLE=VALUE
  local pids
  mapfile -t pids < <(processes_marked "$1")
  if [[ ${#pids[@]} -gt 0 ]]; then
    kill -KILL "${pids[@]}" 2>/dev/null || true
  fi
}
