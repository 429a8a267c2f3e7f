# Sourced by the entry points of all families. It turns the environment into a properties file by the rules of Apache Kafka's image and
# starts kaja with that file. What was mapped is taken out of the environment then, so that the file is the truth: test libraries and
# derived images edit it between the two steps.
export LC_ALL=C

# kaja_not_settings are variables of Kafka's scripts that never become properties; the second line holds kaja's own and the images' switches.
kaja_not_settings=" KAFKA_VERSION KAFKA_HEAP_OPTS KAFKA_LOG4J_OPTS KAFKA_OPTS KAFKA_JMX_OPTS KAFKA_JVM_PERFORMANCE_OPTS KAFKA_GC_LOG_OPTS \
KAFKA_LOG4J_ROOT_LOGLEVEL KAFKA_LOG4J_LOGGERS KAFKA_TOOLS_LOG4J_LOGLEVEL KAFKA_JMX_HOSTNAME "
kaja_switches=" KAFKA_CREATE_TOPICS KAFKA_CREATE_TOPICS_SEPARATOR KAFKA_HOME KAFKA_CLUSTER_ID KAFKA_KRAFT_CLUSTER_ID "

kaja_fail() { echo "kaja image: $*" >&2; exit 1; }
kaja_warn() { echo "kaja image: $*" >&2; }

# kaja_variables: fills names and values with the environment, names that bash cannot hold (KAFKA_..._SCRAM-SHA-256_...) included
kaja_variables() {
  local entry
  names=() values=()
  while IFS= read -r -d '' entry; do
    names+=("${entry%%=*}") values+=("${entry#*=}")
  done < <(env -0)
}

# kaja_is_link NAME VALUE: a variable that Kubernetes or Docker injects for a service called kafka, not one of the user's
kaja_is_link() {
  [[ $1 =~ ^KAFKA(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)$ ]] ||
    [[ $1 == *_PORT && $2 =~ ^(tcp|udp):// ]]
}

# kaja_property NAME: sets REPLY to the property that a variable without its KAFKA_ stands for
kaja_property() {
  local n=${1,,}
  n=${n//_/.}
  n=${n//.../-}
  REPLY=${n//../_}
}

# kaja_line VARIABLE PROPERTY VALUE: prints one line of the file. Escapes stay, as they are meant for the file; a line break that no
# backslash continues becomes a blank (entries of JAAS); the comma that test libraries leave at the end of a list of listeners goes.
kaja_line() {
  local v=$3 nl=$'\n' mark=$'\001'
  while [[ $v == *"$nl" ]]; do v=${v%"$nl"}; done
  v=${v//"\\$nl"/$mark}
  v=${v//"$nl"/ }
  v=${v//$mark/"\\$nl"}
  case $2 in listeners | advertised.listeners | listener.security.protocol.map | process.roles | controller.listener.names)
    while [[ $v == *[,\ ] ]]; do v=${v%?}; done ;;
  esac
  printf '%s=%s\n' "$2" "$v"
}

# kaja_mapped NAME VALUE [PREFIX]: whether a variable becomes a property; sets REPLY to it. PREFIX KAFKA_CFG_ is Bitnami's.
kaja_mapped() {
  local prefix=${3:-KAFKA_}
  [[ $1 == "$prefix"?* ]] || return 1
  [[ $kaja_not_settings != *" $1 "* && $kaja_switches != *" $1 "* ]] || return 1
  if [[ $prefix == KAFKA_ ]]; then
    if kaja_is_link "$1" "$2"; then
      [[ $1 != KAFKA_PORT ]] || kaja_warn "KAFKA_PORT=$2 was made by the cluster for a service called kafka; it is left out"
      return 1
    fi
    [[ $1 != KAFKA_CFG_* || -z ${kaja_cfg_aside:-} ]] || return 1
  fi
  kaja_property "${1#"$prefix"}"
}

# kaja_lines [PREFIX]: prints the environment as lines of a properties file
kaja_lines() {
  local i names values
  kaja_variables
  for i in "${!names[@]}"; do
    kaja_mapped "${names[i]}" "${values[i]}" "${1:-}" && kaja_line "${names[i]}" "$REPLY" "${values[i]}"
  done
  return 0
}

# kaja_get FILE PROPERTY: sets REPLY to the last value in the file, returns 1 without one
kaja_get() {
  local line found=1 key=${2//./\\.}
  REPLY=
  while IFS= read -r line || [[ -n $line ]]; do
    [[ $line =~ ^[[:space:]]*$key[[:space:]]*[=:][[:space:]]*(.*)$ ]] || continue
    REPLY=${BASH_REMATCH[1]} found=0
  done < "$1"
  return $found
}

# kaja_any FILE PROPERTY...: whether the file has one of them
kaja_any() {
  local f=$1 p; shift
  for p in "$@"; do kaja_get "$f" "$p" && return; done
  return 1
}

# kaja_listeners_of ADVERTISED: sets REPLY to the same listeners on every address; fails where no entry has a port ("auto")
kaja_listeners_of() {
  local e out=
  IFS=, read -ra e <<< "$1"
  local i
  for i in "${e[@]}"; do
    [[ $i == *://*:* ]] && out+=${out:+,}${i%%://*}://0.0.0.0:${i##*:}
  done
  REPLY=$out
  [[ -n $out ]]
}

# kaja_dirs FILE DEFAULT: sets dirs to the data directories that the file names
kaja_dirs() {
  kaja_get "$1" log.dirs || kaja_get "$1" log.dir || REPLY=$2
  IFS=, read -ra dirs <<< "$REPLY"
}

# kaja_check_id FILE DEFAULT_DIR ID: what formatting with an id that may be there already comes to. kaja formats by itself at its first
# start, so a directory that has no id yet needs nothing.
kaja_check_id() {
  local dirs d formatted=
  [[ -n $3 ]] || return 0
  kaja_dirs "$1" "$2"
  for d in "${dirs[@]}"; do
    [[ -f $d/meta.properties ]] && kaja_get "$d/meta.properties" cluster.id || continue
    [[ $REPLY == "$3" ]] || kaja_fail "Invalid cluster.id in: $d/meta.properties. Expected $3, but read $REPLY; start with that id, or with an empty directory"
    formatted=1
  done
  [[ -z $formatted ]] || echo "All of the log directories are already formatted."
}

# kaja_writable FILE DEFAULT_DIR: makes the data directories; a volume that this user cannot write to is the most frequent mistake
kaja_writable() {
  local dirs d
  kaja_dirs "$1" "$2"
  for d in "${dirs[@]}"; do
    mkdir -p "$d" 2> /dev/null && [[ -w $d ]] || kaja_fail "$d is not writable for uid $EUID; give the volume to this user, or start the container as root (--user 0)"
  done
}

# kaja_final PATH: sets REPLY to PATH, or to a file in /tmp where the root file system is read-only
kaja_final() {
  REPLY=$1
  { : >> "$1"; } 2> /dev/null && return
  mkdir -p /tmp/kaja && REPLY=/tmp/kaja/${1##*/}
}

# kaja_nap: what internal/naps would execute the broker's program twice for, done beforehand: the broker is there some milliseconds earlier, and
# there is no second moment in which the container's first process misses SIGTERM. Where it cannot be done, and where it was asked for, the broker does it.
kaja_nap() {
  [[ -n ${KAJA_TIMER_SLACK:-} ]] || { echo 2000000 > /proc/self/timerslack_ns; } 2> /dev/null || true
}

# kaja_serve FILE [ARGUMENT ...]: becomes the broker. The cluster id counts for directories that have none yet.
kaja_serve() {
  local names values drop=(-u LC_ALL) i dirs d file=$1; shift
  kaja_variables
  for i in "${!names[@]}"; do
    [[ ${names[i]} == KAFKA_* && $kaja_not_settings != *" ${names[i]} "* && ${names[i]} != KAFKA_CREATE_TOPICS* ]] && drop+=(-u "${names[i]}")
  done
  kaja_dirs "$file" "${kaja_data:-/tmp/kafka-logs}"
  for d in "${dirs[@]}"; do
    [[ -f $d/meta.properties ]] && { drop+=(-u CLUSTER_ID); break; }
  done
  echo "$file" > /tmp/kaja.serving 2> /dev/null || true
  kaja_nap
  exec env "${drop[@]}" /usr/bin/kaja serve "$file" "$@"
}
