# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts that test stoker elsewhere: where they keep what that takes, and where that comes from.
# shellcheck shell=bash
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

unable() {
  complain "skipped:" "$@"
  exit 77
}

# Sets `folder`, which this run has for itself from then on.
take_folder() { # NAME
  folder=${STOKER_TEST_FOLDER:-${XDG_CACHE_HOME:-$HOME/.cache}/stoker}/$1
  mkdir -p "$(dirname "$folder")"
  exec {lock}>"$folder.lock"
  flock --nonblock "$lock" || die "$folder is in use by another run"
}

# Sets `mirror`: where apt gets this machine's Debian from.
find_mirror() {
  # shellcheck disable=SC2016 # apt's own
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' \
    2>/dev/null | head -n 1)
  [[ -n $mirror ]] || unable "apt has no mirror of Debian"
}
