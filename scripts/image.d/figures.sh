# Sourced by image figures: what the image costs, each figure the median of several runs on this machine.
. "$here/engine.sh"
need_engine
need kcat kcat
image=localhost/kaja:4.4.0
build > /dev/null
runs=${RUNS:-9}
median() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
ms() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.0f\n", (b - a) * 1000 }'; }
field() { printf '%-58s %s\n' "$1" "$2"; }

# Size: the layer as registries hold it
layer=$(podman save --format oci-archive "$image" 2> /dev/null | tar -xO --wildcards 'blobs/sha256/*' 2> /dev/null | wc -c)
field "image, compressed (gzip), at most 40 MB" "$(awk -v b="$layer" 'BEGIN { printf "%.1f MB", b / 1e6 }')"
field "image, unpacked" "$(podman image inspect -f '{{.Size}}' "$image" | awk '{ printf "%.1f MB", $1 / 1e6 }')"

rootfs "$tmp/rootfs" 2> /dev/null
root_run() { unshare -mnpuf --kill-child bash -c 'ip link set lo up; mount --rbind /dev "$1/dev"; mount -t proc proc "$1/proc"; exec chroot --userspec=1000:1000 --groups=0 "$1" /usr/bin/env -i PATH=/usr/bin:/opt/kafka/bin KAJA_LOG_FORMAT=kafka bash -c "$2"' _ "$tmp/rootfs" "$1"; }

# Start and stop of the entry point in the root file system, from exec to the ready line, and from SIGTERM to the end
measure='for _ in $(seq '$runs'); do
  rm -rf /tmp/kraft-combined-logs; mkfifo /tmp/out
  begin=$EPOCHREALTIME
  '$'/etc/kafka/docker/run > /tmp/out 2>&1 & p=$!
  exec 4< /tmp/out
  while read -r line <&4; do [[ $line != *"Kafka Server started"* ]] || { echo "start $begin $EPOCHREALTIME"; break; }; done
  [ -n "$once" ] || { sleep 1; grep VmRSS /proc/$p/status; }
  once=1
  begin=$EPOCHREALTIME; kill $p; cat <&4 > /dev/null; wait $p; echo "stop $begin $EPOCHREALTIME"
  exec 4<&-; rm /tmp/out
done'
root_run "$measure" > "$tmp/starts"
field "start: entry point to the ready line" "$(awk '$1 == "start" { print ($3 - $2) * 1000 }' "$tmp/starts" | median | awk '{ printf "%.0f ms", $1 }')"
field "stop: SIGTERM to the end" "$(awk '$1 == "stop" { print ($3 - $2) * 1000 }' "$tmp/starts" | median | awk '{ printf "%.0f ms", $1 }')"
field "resident memory a second after the start" "$(awk '/VmRSS/ { printf "%.1f MB", $2 / 1024 }' "$tmp/starts")"

# Tools, as whole processes against a running broker
tools='/etc/kafka/docker/run > /tmp/log 2>&1 & p=$!
until grep -q "Kafka Server started" /tmp/log; do sleep 0.05; done
kafka-topics --bootstrap-server localhost:9092 --create --topic t > /dev/null
for c in "kafka-topics --bootstrap-server localhost:9092 --list" "kafka-broker-api-versions --bootstrap-server localhost:9092" "kafka-consumer-groups --bootstrap-server localhost:9092 --list" \
  "kafka-configs --bootstrap-server localhost:9092 --entity-type topics --entity-name t --describe" "kafka-storage random-uuid" "kaja version" /usr/lib/kaja/healthy; do
  command -v ${c%% *} > /dev/null || continue
  for _ in $(seq '$runs'); do begin=$EPOCHREALTIME; $c > /dev/null 2>&1 || echo "FAILED $c"; echo "$begin $EPOCHREALTIME ${c%% *}"; done
done
kill $p; wait $p'
root_run "$tools" > "$tmp/tools"
grep FAILED "$tmp/tools" | sort -u
for t in $(awk '$1 != "FAILED" { print $3 }' "$tmp/tools" | sort -u); do
  field "call of $t, at most 30 ms" "$(awk -v t="$t" '$3 == t { print ($2 - $1) * 1000 }' "$tmp/tools" | median | awk '{ printf "%.0f ms", $1 }')"
done

# In the engine: podman's own time is most of it
for _ in $(seq 3); do
  begin=$EPOCHREALTIME
  id=$(podman run -d "$image")
  until podman logs "$id" 2>&1 | grep -q "Kafka Server started"; do sleep 0.02; done
  ready=$EPOCHREALTIME
  podman stop -t 10 "$id" > /dev/null
  echo "$(ms "$begin" "$ready") $(ms "$ready" "$EPOCHREALTIME")"
  podman rm -v "$id" > /dev/null
done 2> /dev/null > "$tmp/engine"
field "podman run to the ready line (its part included)" "$(awk '{ print $1 }' "$tmp/engine" | median) ms"
field "podman stop (its part included)" "$(awk '{ print $2 }' "$tmp/engine" | median) ms"
