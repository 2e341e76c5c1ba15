# shellcheck shell=bash disable=SC2154 # root and folder are of whoever sources this
# SPDX-License-Identifier: BSD-3-Clause
# What the scripts share that measure a table of results. Sourced, after scripts/common.sh; `folder` is where results go.

program_of() { echo "$root/$(build_dir_of "$1")/$2"; } # mpi, path in the build folder

# A rank's command line, each word ended by a zero byte, with the drop-in library preloaded next to what is already. It stands behind that
# of the launcher, which must not load the library itself.
with_drop_in() { # mpi, settings..., command...
  local mpi=$1
  shift
  # shellcheck disable=SC2016 # expanded by the rank
  printf '%s\0' sh -c 'export LD_PRELOAD="$1${LD_PRELOAD:+:$LD_PRELOAD}"; shift; exec env "$@"' sh \
    "$(program_of "$mpi" api/pmpi/libstoker-pmpi.so)" "$@"
}

record() { # name, command...: table and JSON lines; for at most $limit seconds
  local name=$1
  shift
  say "$name"
  rm -f "$folder/$name.json" # examples append
  timeout --kill-after=5 "${limit:-1800}" "$@" --json "$folder/$name.json" >"$folder/$name.txt" 2>&1 </dev/null ||
    complain "failed: see $folder/$name.txt"
}

# Options for the launch, before the name: --ucx and --yield, as of scripts/cluster; --program PATH: another one than stoker-bench.
on_hosts() { # hosts, ranks per host, mpi, name, options of the program...
  local launch=() program=bench/stoker-bench
  while [[ $1 == --* ]]; do
    if [[ $1 == --program ]]; then
      program=$2 && shift 2
    else
      launch+=("$1") && shift
    fi
  done
  local hosts=$1 ppn=$2 mpi=$3 name=$4
  shift 4
  if [[ $mpi == openmpi && $ppn -gt 1 ]]; then
    launch+=(--yield)
  fi
  "$root/scripts/cluster" up "$hosts" --rate 1gbit >/dev/null
  record "$name.${hosts}x$ppn.$mpi" "$root/scripts/cluster" run --mpi "$mpi" --ppn "$ppn" "${launch[@]}" -- \
    "$(program_of "$mpi" "$program")" "$@"
  "$root/scripts/cluster" down >/dev/null
}

# Sets `launch` to the words that start ranks on this host, which yield if they are more than the cores.
launch_here() { # ranks, mpi, none | core: what each rank is bound to
  local yield=$(($1 > $(nproc) ? 1 : 0))
  if [[ $2 == mpich ]]; then
    launch=(mpiexec.mpich -launcher fork -bind-to "$3" -n "$1")
  else
    launch=(mpirun.openmpi --oversubscribe --bind-to "$3" --mca mpi_yield_when_idle "$yield" -n "$1")
    if [[ $EUID -eq 0 ]]; then
      launch+=(--allow-run-as-root)
    fi
  fi
}

# Ranks have cores of their own as long as there are enough.
on_this_host() { # ranks, mpi, name, options of stoker-bench...
  local ranks=$1 mpi=$2 name=$3 launch
  shift 3
  launch_here "$ranks" "$mpi" none
  if [[ $ranks -le $(nproc) ]]; then
    set -- "$@" --bind "$(seq -s, 0 $((ranks - 1)))"
  fi
  record "$name.1x$ranks.$mpi" "${launch[@]}" "$(program_of "$mpi" bench/stoker-bench)" "$@"
}
