# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts that install packages of Debian.
# shellcheck shell=bash
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

missing_packages() { # PACKAGE...
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^installed //p') || true
  printf '%s\n' "$@" | grep -vxF -f <(printf '%s\n' "$installed" | sed 's/^$/-/') || true
}

# The steps of apt-get as lines "[N/M] what".
apt_steps() { # M
  local word second third fifth done=0
  while read -r word second third _ fifth _; do
    case $word in
      Get:*) echo "[$((++done))/$1] downloading $fifth" ;;
      Unpacking) echo "[$((++done))/$1] unpacking $second" ;;
      Setting) echo "[$((++done))/$1] setting up $third" ;;
    esac
  done
}

# Installs those that are missing.
install_packages() { # PACKAGE...
  local missing as_root=() install downloads count megabytes
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system: packages are left to you (the list: scripts/setup --packages)"
    return
  fi
  mapfile -t missing < <(missing_packages "$@")
  if [[ ${#missing[@]} -eq 0 ]]; then
    return
  fi
  if [[ $EUID -ne 0 ]]; then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
      as_root=(sudo)
    else
      die "these packages are missing, and installing them takes root or sudo:" \
        "apt-get install --no-install-recommends ${missing[*]}"
    fi
  fi
  say "asking for the latest packages"
  "${as_root[@]}" apt-get update -qq
  install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
    apt-get install -y -q --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}")
  count=$("${install[@]}" --simulate | grep -c '^Inst')
  read -r downloads megabytes < <("${install[@]}" -qq --print-uris | awk '{ s += $3 } END { print NR, int(s / 1e6) }')
  say "installing $count packages, $megabytes MB to download: ${missing[*]} and what these need"
  "${install[@]}" | apt_steps $((downloads + 2 * count)) | progress
}
