# Sourced by image test. Every case gets the image's root file system to itself, an overlay in a network of its own; no engine is needed.
# The cases lie in test.d, a file for each family; they use:
#   fresh                    begins a case: what earlier ones changed is gone
#   put PATH [MODE]          a file of the case, from standard input
#   stub                     kaja only says what it was started with and with which environment
#   read_only=1              in front of inside: the root file system can only be read, /tmp is memory
#   inside [-u UID:GID] [-d DIR] [K=V ...] -- COMMAND...   runs it as appuser or who was named; leaves its output in said, its exit code in rc
#   serving [-u UID:GID] [K=V ...] -- SCRIPT CHECK...      starts SCRIPT, waits until it serves, runs the shell command CHECK, stops it
#   check NAME CONDITION...  counts; says what was got when CONDITION fails
passed=0 failed=0 said= rc=0
for p in unshare:util-linux ip:iproute2 timeout:coreutils; do need "${p%:*}" "${p#*:}"; done
rootfs "$tmp/rootfs" 2> "$tmp/rootfs.log"
cell=$tmp/cell

fresh() {
  umount_cell
  rm -rf "$cell"
  mkdir -p "$cell/up" "$cell/work" "$cell/all"
}
umount_cell() { mountpoint -q "$cell/all" 2> /dev/null && umount -R "$cell/all"; true; }

put() {
  mkdir -p "$cell/up/$(dirname "$1")"
  if [ -d "$tmp/rootfs/$(dirname "$1")" ]; then # the overlay takes a directory's owner from its upper copy
    chown --reference="$tmp/rootfs/$(dirname "$1")" "$cell/up/$(dirname "$1")"
    chmod --reference="$tmp/rootfs/$(dirname "$1")" "$cell/up/$(dirname "$1")"
  fi
  rm -f "$cell/up/$1"
  cat > "$cell/up/$1"
  chmod "${2:-644}" "$cell/up/$1"
}

stub() {
  put usr/bin/kaja 755 <<'S'
#!/bin/bash
echo "kaja $*"
env | sort
S
}

inside() {
  local who=1000:1000 dir=/opt/kafka env=() groups=0
  while [ "$1" != -- ]; do
    case $1 in
    -u) who=$2; shift ;;
    -d) dir=$2; shift ;;
    *) env+=("$1") ;;
    esac
    shift
  done
  shift
  said=$(READ_ONLY=${read_only:-} timeout -k 1 "${patience:-20}" unshare -mnpuf --kill-child bash -c '
    cell=$1 lower=$2 who=$3 dir=$4; shift 4
    hostname kaja-test
    ip link set lo up
    mount -t overlay overlay -o "lowerdir=$lower,upperdir=$cell/up,workdir=$cell/work" "$cell/all" || exit 99
    mount --rbind /dev "$cell/all/dev"
    mount -t proc proc "$cell/all/proc"
    [ -z "$READ_ONLY" ] || { mount -t tmpfs tmpfs "$cell/all/tmp" && mount -o remount,ro "$cell/all"; }
    exec chroot --userspec="$who" --groups=0 "$cell/all" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/kafka/bin KAJA_LOG_FORMAT=kafka \
      HOSTNAME=kaja-test KAFKA_HOME=/opt/kafka "${@}"' _ "$cell" "$tmp/rootfs" "$who" "$dir" "${env[@]}" /bin/bash -c 'cd "$1"; shift; exec "$@"' _ "$dir" "$@" 2>&1 < /dev/null)
  rc=$?
}

serving() {
  local args=()
  while [ "$1" != -- ]; do args+=("$1"); shift; done
  shift
  local script=$1; shift
  inside "${args[@]}" -- /bin/bash -c '
    : > /tmp/case.log
    $1 > /tmp/case.log 2>&1 &
    pid=$!
    for _ in {1..200}; do
      [[ $(< /tmp/case.log) == *"Kafka Server started"* ]] && break
      kill -0 $pid 2> /dev/null || break
      sleep 0.02
    done
    eval "$2"
    rc=$?
    kill -TERM $pid 2> /dev/null
    wait $pid
    cat /tmp/case.log
    exit $rc' _ "$script" "$*"
}

check() {
  local name=$1; shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $name: not $*"
    printf '%s\n' "$said" | tail -"${tail:-15}" | sed 's/^/     /'
  fi
}
says() { [[ $said == *"$1"* ]]; }
matches() { [[ $said =~ $1 ]]; }
ends() { [ "$rc" = "$1" ]; }
one_line() { [ "$(grep -c '^kaja' <<< "$said")" = 1 ]; }
# last FILE LINE: LINE is in the file, and the last of its key
last() { [ "$(grep -aE "^${2%%=*}=" "$cell/up/$1" 2> /dev/null | tail -1)" = "$2" ]; }
lacks() { ! grep -qaE "^$2" "$cell/up/$1" 2> /dev/null; }
there() { [ -e "$tmp/rootfs/$1" ] || [ -L "$tmp/rootfs/$1" ]; }
runs() { chroot "$tmp/rootfs" /bin/bash -c '[ -x "$1" ]' _ "/$1"; }

for family in ${1:-"$here"/test.d/*.sh}; do
  [ -f "$family" ] || family=$here/test.d/$family.sh
  echo "== ${family##*/}"
  . "$family"
done
umount_cell
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
