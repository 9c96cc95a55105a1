# What ./test and ./start share: packages, compiler cache, timed steps. Sourced by bash, in the repository's top folder.

# What a build needs, and ./start.
build_packages=(build-essential cmake ninja-build ccache pkg-config git python3
  libfmt-dev libexpected-dev libzstd-dev zlib1g-dev libboost1.81-dev libssl-dev libnghttp2-dev libgtest-dev libgmock-dev libbenchmark-dev
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libsqlite3-dev
  liblttng-ust-dev jq procps util-linux curl ca-certificates)
# The pages are bundled by node. Where node came from elsewhere, Debian's would conflict with it.
command -v node >/dev/null && command -v npm >/dev/null || build_packages+=(nodejs npm)

# What ./test needs besides.
test_packages=(clang-format clang-tidy clang-16 libclang-rt-16-dev
  graphite-carbon collectd-core prometheus clickhouse-server zookeeper protobuf-compiler python3-protobuf python3-grpcio python3-jsonschema
  linux-perf bpftrace libfaketime wrk gdb strace binutils babeltrace2 lttng-tools zstd time iproute2 openssl chromium fonts-dejavu-core)

# Without these nothing is built; without the others single checks and tests cannot run.
needed_commands=(g++ cmake ninja git python3 node npm)
needed_headers=(fmt/core.h tl/expected.hpp zstd.h zlib.h boost/asio.hpp openssl/ssl.h gtest/gtest.h gmock/gmock.h benchmark/benchmark.h)

logs=build/logs
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-5G} DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1

say() { printf '%s\n' "$*" >&2; }

missing_packages() { # PACKAGE…
  local package installed
  installed=" $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' | tr '\n' ' ') "
  for package in "$@"; do
    case $installed in *" $package "*) ;; *) printf '%s ' "$package" ;; esac
  done
}

missing_parts() {
  local part
  for part in "${needed_commands[@]}"; do command -v "$part" >/dev/null || printf '%s ' "$part"; done
  command -v g++ >/dev/null || return 0
  for part in "${needed_headers[@]}"; do
    g++ -E -x c++ -include "$part" /dev/null >/dev/null 2>&1 || printf '<%s> ' "$part"
  done
}

# install_packages PACKAGE…: installs what is missing, as root. Without root it lists it and goes on if a build is possible.
install_packages() {
  local missing parts
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing: $missing"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086  # a list of words
    apt-get -qq -o DPkg::Lock::Timeout=400 update && apt-get -qq -o DPkg::Lock::Timeout=400 install --no-install-recommends -y $missing
    return
  fi
  say "not installed: $missing"
  say "  hint: sudo apt-get install --no-install-recommends $missing"
  parts=$(missing_parts)
  [ -z "$parts" ] || { say "cannot go on without: $parts"; return 1; }
}

need_dotnet() {
  command -v dotnet >/dev/null && return 0
  say "dotnet is not on PATH"
  say "  hint: install the .NET 10 SDK: https://learn.microsoft.com/dotnet/core/install/linux-debian"
  return 1
}

# build PRESET [cmake --build arguments…]
build() {
  local preset=$1
  shift
  cmake --preset "$preset" && cmake --build --preset "$preset" -j "$(nproc)" "$@"
}

now_ms() { date +%s%3N; }

log_of() { printf '%s/%s.log' "$logs" "${1//[ \/]/-}"; }

times=() failures=()
# step NAME COMMAND…: silent unless it fails, then the end of its log is shown. Times are kept for print_times.
step() {
  local name=$1 log began code=0
  log=$(log_of "$1")
  shift
  mkdir -p "$logs"
  began=$(now_ms)
  printf '%-28s ' "$name" >&2
  "$@" >"$log" 2>&1 </dev/null || code=$?
  note_time "$name" "$began"
  if [ $code -ne 0 ]; then
    say "FAILED after $(last_time), exit code $code; the end of $log:"
    tail -n 60 "$log" | sed 's/^/  | /' >&2
    note_failure "$name"
  else
    say "$(last_time)"
  fi
  return $code
}

# step_shown NAME COMMAND…: the same, with its output on the screen.
step_shown() {
  local name=$1 log began code=0
  log=$(log_of "$1")
  shift
  mkdir -p "$logs"
  began=$(now_ms)
  say "$name"
  "$@" 2>&1 </dev/null | tee "$log" || code=$?
  note_time "$name" "$began"
  [ $code = 0 ] || note_failure "$name"
  return $code
}

# Keeps the step's name and the failures named in its log, for the end of the run.
note_failure() { # NAME
  failures+=("$1" "$(grep -E '^failed: |\[  FAILED  \] [^ ]+\.[^ ]+( |$)|^(FAIL|ERROR): |\*\*\*(Failed|Timeout|Exception)' "$(log_of "$1")" | sort -u | head -n 20 | sed 's/^/  /')")
}
print_failures() {
  [ ${#failures[@]} = 0 ] || { echo "Failed:" && printf '%s\n' "${failures[@]}" | sed '/^$/d'; }
}

note_time() { times+=("$(printf '%-28s %7.1f s' "$1" "$(($(now_ms) - $2))e-3")"); } # NAME BEGAN
last_time() { printf '%s' "${times[-1]}" | awk '{print $(NF-1), $NF}'; }
print_times() { printf '%s\n' "${times[@]}"; }
