# Sourced by scripts/containers: every compose file of compose/ comes up as it is; its "# check:" lines say what must hold then.
ip link set lo up # the network is the suite's own
composed() { "$home/venv/bin/podman-compose" "$@"; }

# until SECONDS COMMAND...: tries until it works
until_works() {
  local end=$((SECONDS + $1)); shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.2
  done
}
copied() { # BOOTSTRAP
  echo hello | timeout 10 kcat -q -b "$1" -P -t modules 2> /dev/null && [ "$(timeout 10 kcat -q -b "$1" -C -t modules -o beginning -c 1 2> /dev/null)" = hello ]
}
listed() { # BOOTSTRAP TOPIC...
  local b=$1 l t; shift
  l=$(timeout 10 kcat -b "$b" -L 2> /dev/null)
  for t in "$@"; do [[ $l == *"topic \"$t\" "* ]] || return 1; done
}
holds() {
  local what=$1; shift
  case $what in
  copy) until_works 30 copied "$@" ;;
  topics) until_works 30 listed "$@" ;;
  partitions) until_works 30 bash -c 'kcat -b "$1" -L 2> /dev/null | grep -q "topic \"$2\" with $3 partitions"' _ "$@" ;;
  logged) until_works 30 bash -c 'podman logs "$1" 2>&1 | grep -q "$2"' _ "$@" ;;
  *) return 1 ;;
  esac
}

for f in "$here"/compose/${COMPOSE:-*}.yml; do
  name=${f##*/}
  begin=$EPOCHREALTIME
  (cd "$here/compose" && timeout 90 "$home/venv/bin/podman-compose" -p kaja -f "$name" up -d) > "$tmp/up.log" 2>&1 || { echo "FAIL compose $name: does not come up"; tail -5 "$tmp/up.log"; }
  up=$EPOCHREALTIME
  while read -r line; do
    if holds $line; then
      echo "PASS compose $name: $line ($(awk -v a="$begin" -v b="$up" -v c="$EPOCHREALTIME" 'BEGIN { printf "up in %.1f s, true after %.1f s", b - a, c - a }'))"
    else
      echo "FAIL compose $name: $line"
      (cd "$here/compose" && composed -p kaja -f "$name" logs) 2>&1 | tail -20
    fi
  done < <(sed -n 's/^# check: //p' "$f")
  (cd "$here/compose" && composed -p kaja -f "$name" down -v -t 2) > "$tmp/down.log" 2>&1
done
