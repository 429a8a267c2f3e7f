# Sourced. need_engine: podman works afterwards, with storage and settings of its own in the cache; engine_up also starts its service,
# which speaks Docker's API, and a health checker in place of systemd's timers. engine_down ends what was started.

engine_dir=${KAJA_ENGINE:-$cache/engine}

need_engine() {
  local p missing=()
  for p in podman:podman runc:runc /usr/lib/podman/netavark:netavark /usr/lib/podman/aardvark-dns:aardvark-dns iptables:iptables; do
    [ -x "${p%:*}" ] || command -v "${p%:*}" > /dev/null || missing+=("${p#*:}")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    [ "$(id -u)" = 0 ] || die "missing: ${missing[*]}"
    retry 4 apt_install "${missing[@]}" || die "these packages cannot be installed: ${missing[*]}"
  fi
  mkdir -p "$engine_dir"
  # An ulimit of a container must not exceed our own hard limit.
  local files procs
  files=$(ulimit -Hn) procs=$(ulimit -Hu)
  [ "$files" != unlimited ] && [ "$files" -le 16384 ] || files=16384
  [ "$procs" != unlimited ] && [ "$procs" -le 8192 ] || procs=8192
  cat > "$engine_dir/storage.conf" <<S
[storage]
driver = "vfs"
graphroot = "$engine_dir/graph"
runroot = "$engine_dir/run"
S
  cat > "$engine_dir/containers.conf" <<S
[containers]
default_ulimits = ["nofile=$files:$files", "nproc=$procs:$procs"]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
events_logger = "file"
[network]
network_backend = "netavark"
S
  export CONTAINERS_CONF=$engine_dir/containers.conf CONTAINERS_STORAGE_CONF=$engine_dir/storage.conf
  podman info > "$engine_dir/info.log" 2>&1 || { tail -3 "$engine_dir/info.log" >&2; die "podman does not work"; }
}

engine_up() {
  engine_socket=$engine_dir/podman.sock
  rm -f "$engine_socket"
  podman system service --time=0 "unix://$engine_socket" > "$engine_dir/service.log" 2>&1 &
  engine_pid=$!
  for _ in $(seq 100); do
    [ -S "$engine_socket" ] && break
    sleep 0.1
  done
  [ -S "$engine_socket" ] || die "podman's service does not start"
  # podman leaves the intervals of health checks to systemd; here nothing runs them otherwise.
  (
    while sleep 1; do
      for c in $(podman ps -q --filter health=starting --filter health=unhealthy 2> /dev/null); do podman healthcheck run "$c" > /dev/null 2>&1; done
    done
  ) &
  health_pid=$!
  export DOCKER_HOST=unix://$engine_socket TESTCONTAINERS_RYUK_DISABLED=true TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1 TESTCONTAINERS_CONNECTION_MODE=docker_host
}

engine_down() {
  [ -z "${health_pid:-}" ] || kill "$health_pid" 2> /dev/null
  [ -z "${engine_pid:-}" ] || kill "$engine_pid" 2> /dev/null
  health_pid= engine_pid=
}
