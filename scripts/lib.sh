# Sourced by the scripts beside it. Sets root (the repository), cache (what is kept between runs), tmp (removed at exit), and KAFKA (the
# script that runs Apache Kafka 4.4.0 and its tools). Starts brokers and ends them again.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${KAJA_CACHE:-$HOME/.cache/kaja-compat}
libs=${KAFKA_LIBS:-$HOME/.cache/apache-kafka-4.4.0}
KAFKA=${KAFKA:-$root/../shared/kafka/kafka}
export GOWORK=off KAFKA
mkdir -p "$cache"
tmp=$(mktemp -d)
broker_pid=

die() { echo "${0##*/}: $*" >&2; exit 2; }

cleanup() { kill_broker KILL; rm -rf "$tmp"; }
trap cleanup EXIT
trap 'exit 130' INT TERM

# need_kafka: Kafka's jars are there afterwards
need_kafka() {
  [ -x "$KAFKA" ] || die "$KAFKA is missing: it runs Apache Kafka 4.4.0; put ../shared beside the repository, or name such a script in KAFKA"
  [ -e "$libs/.complete" ] || "$KAFKA" kafka-topics --version > /dev/null 2>&1
  [ -e "$libs/.complete" ] || die "Kafka's jars cannot be fetched to $libs (Java 17 and Maven are needed)"
}

# build_kaja: leaves the binary's path in kaja (KAJA names a built one)
build_kaja() {
  kaja=${KAJA:-$cache/kaja}
  [ -n "${KAJA:-}" ] || (cd "$root" && CGO_ENABLED=0 go build -o "$kaja" .) || die "kaja does not build"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1] % 20000 + 20000)'; }

listens() { (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }

# start_broker kaja|kafka DIR PORT [KEY=VALUE ...]: both with the same server.properties; returns when it listens
start_broker() {
  local kind=$1 dir=$2 port=$3; shift 3
  local broker=
  [ "$kind" = kaja ] && broker="$kaja serve"
  BROKER=$broker KAFKA_OPTS="${KAFKA_OPTS:--Xmx768m -Xms256m}" "$KAFKA" serve "$dir" "$port" "$@" > "$dir.log" 2>&1 &
  broker_pid=$!
  for _ in $(seq 600); do
    listens "$port" && return
    kill -0 "$broker_pid" 2> /dev/null || break
    sleep 0.1
  done
  tail -5 "$dir.log" >&2
  die "$kind does not listen on $port, its last lines are above"
}

# stop_broker: a clean stop, waited for
stop_broker() { kill_broker TERM; }

kill_broker() {
  [ -n "$broker_pid" ] || return 0
  kill "-$1" "$broker_pid" 2> /dev/null
  wait "$broker_pid" 2> /dev/null
  broker_pid=
}

# retry N COMMAND...: registries are sometimes slow to answer
retry() {
  local n=$1 i; shift
  for i in $(seq "$n"); do
    "$@" && return
    echo "try $i of $n failed: $*" >&2
    sleep $((i * 2))
  done
  return 1
}

apt_update() { [ -n "${apt_updated:-}" ] || { apt-get -qq update > /dev/null 2>&1 && apt_updated=1; }; }
apt_install() { apt_update; DEBIAN_FRONTEND=noninteractive apt-get -y -qq install --no-install-recommends "$@" > /dev/null 2>&1 || { apt_updated=; return 1; }; }

# need COMMAND PACKAGE: installs the Debian package when the command is missing
need() {
  command -v "$1" > /dev/null && return
  [ "$(id -u)" = 0 ] || die "$1 is missing: install the package $2"
  retry 4 apt_install "$2"
  command -v "$1" > /dev/null || die "$1 is missing and the package $2 cannot be installed"
}

# python_env, node_env: kafka-python and kafkajs in the cache, made again when their list changes
python_env() {
  local want=$root/compat-tests/python/requirements.txt
  cmp -s "$want" "$cache/venv/requirements.txt" && return
  need python3 python3
  rm -rf "$cache/venv"
  python3 -m venv "$cache/venv" || { need_venv; python3 -m venv "$cache/venv"; } || die "python3 -m venv does not work"
  retry 3 "$cache/venv/bin/pip" install -q --disable-pip-version-check -r "$want" >&2 || die "the packages of $want cannot be installed"
  cp "$want" "$cache/venv/"
}
need_venv() { [ "$(id -u)" = 0 ] && retry 4 apt_install python3-venv; }

node_env() {
  local want=$root/compat-tests/node/package.json
  cmp -s "$want" "$cache/node/.installed" && return
  need node nodejs
  need npm npm
  rm -rf "$cache/node"
  mkdir -p "$cache/node"
  cp "$want" "$cache/node/"
  (cd "$cache/node" && retry 3 npm install --no-audit --no-fund --silent) >&2 || die "the packages of $want cannot be installed"
  cp "$want" "$cache/node/.installed"
}
