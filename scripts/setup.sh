#!/usr/bin/env bash
# Brings a Debian 12 machine to the point where Tenon builds: system packages, oneDNN, Python environments.
#
#   scripts/setup.sh            what a build needs
#   scripts/setup.sh --tests    and what the tests need (ONNX, ONNX Runtime in .venv)
#   scripts/setup.sh --peers    and the engines that reports compare with (ONNX Runtime, OpenVINO in .venv)
#   scripts/setup.sh --torch    and PyTorch with its model collections (6 GB, .venv-torch), for scripts/breadth.py
#   scripts/setup.sh --engines  and the engines that plans are exported to (into .venv-torch, with --torch)
#   scripts/setup.sh --npm      and npm, which some inputs come from
#
# Running it again is quick and changes nothing. System packages need root or sudo.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Debian 12 fixes the versions; docs/dependencies.md says what each one is for.
build_packages=(
  clang-19 lld-19 llvm-19-dev libclang-rt-19-dev ccache cmake ninja-build pkg-config git
  libfmt-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  libsqlite3-dev libjpeg62-turbo-dev libturbojpeg0-dev libpng-dev zlib1g-dev libzstd-dev
  libre2-dev libutf8proc-dev libwebp-dev libtiff-dev libopenjp2-7-dev
  libgomp1 python3 python3-venv python3-pip ca-certificates
)
test_packages=(clang-format-19 clang-tidy-19)

say() { printf '\033[2m%s\033[0m\n' "setup: $*" >&2; }
[ -t 2 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '%s\n' "setup: $*" >&2; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else say "this step needs root or sudo: $*"; exit 1; fi
}

install_packages() {
  local missing=() have
  have=$(dpkg-query -W -f='${db:Status-Abbrev}${Package}\n' 2>/dev/null | sed -n 's/^.i *//p')
  for package in "$@"; do grep -qx -- "$package" <<<"$have" || missing+=("$package"); done
  if [ ${#missing[@]} -eq 0 ]; then say "system packages: all ${#} here"; return; fi
  say "system packages: installing ${#missing[@]}: ${missing[*]}"
  as_root apt-get update -qq
  DEBIAN_FRONTEND=noninteractive as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# Git worktrees share the environments, as they share the cache; requirements-NAME.txt has the versions.
# PyTorch has one of its own, so that the everyday one stays small.
install_environment() {
  local name=$1 list="$root/scripts/requirements-$1.txt" stamp sum python=python3 suffix=
  local how=()
  [ "$name" = torch ] && suffix=-torch
  # DeepSpeed is a source package that looks for the PyTorch beside it and compiles at first use.
  [ "$name" = engines ] && suffix=-torch && how=(--no-build-isolation) && export DS_BUILD_OPS=0
  local venv="${TENON_CACHE:+$cache/venv$suffix}"
  venv=${venv:-$(dirname "$cache")/.venv$suffix}
  sum=$(sha256sum <"$list" | cut -c1-64)
  stamp="$venv/.installed-$name"
  if [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ]; then say "python environment ($name): here"
  else
    [ -x /usr/bin/python3 ] && python=/usr/bin/python3
    say "python environment ($name): installing into $venv"
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes "${how[@]}" -r "$list" >&2
    echo "$sum" >"$stamp"
  fi
  [ -e "$root/.venv$suffix" ] || ln -s "$venv" "$root/.venv$suffix"
}

packages=("${build_packages[@]}")
environments=()
want_npm=0
for option in "$@"; do
  case $option in
    --tests) environments+=(tests); packages+=("${test_packages[@]}") ;;
    --peers) environments+=(peers) ;;
    --torch) environments+=(torch) ;;
    --engines) environments+=(torch engines) ;;
    --npm) want_npm=1 ;;
    -h|--help) sed -n '2,11p' "${BASH_SOURCE[0]}" | cut -c3-; exit 0 ;;
    *) echo "setup.sh: no option '$option' (--tests, --peers, --torch, --engines, --npm)" >&2; exit 2 ;;
  esac
done
# npm may also come from elsewhere than Debian, so only its absence counts.
if [ $want_npm -eq 1 ] && ! command -v npm >/dev/null; then packages+=(npm); fi

install_packages "${packages[@]}"
cache=$(python3 "$root/scripts/cache_dir.py")
say "oneDNN"
python3 "$root/scripts/fetch_inputs.py" build
for name in "${environments[@]}"; do install_environment "$name"; done
say "done"
