# Sourced by run: consumer groups by Kafka's tools. Topic $x-groups has 3 partitions with 10, 20 and 30 records.
topic "$x-groups" --partitions 3
for p in 0 1 2; do
  for i in $(seq 0 $((10 * p + 9))); do echo "$p/$i"; done | kc -P -t "$x-groups" -p $p
done
g=$x-group
cg() { k kafka-consumer-groups "${bs[@]}" "$@"; }
# offsets_are NAME A B C: the committed offsets of the three partitions, by the tool's description of the group
offsets_are() {
  cg --describe --group "$g" > "$d/out"
  [ "$(awk -v t="$x-groups" '$2 == t {print $3, $4}' "$d/out" | sort | awk '{printf "%s ", $2}')" = "$2 $3 $4 " ]; verdict "$1" $?
}
# reset NAME A B C OPTION...: resets for good; what it prints and what is committed afterwards
reset() {
  cg --reset-offsets --group "$g" --execute "${@:5}" > "$d/out"
  [ "$(awk -v t="$x-groups" '$2 == t {print $3, $4}' "$d/out" | sort | awk '{printf "%s ", $2}')" = "$2 $3 $4 " ]; verdict "groups-reset-$1" $?
  offsets_are "groups-reset-$1-committed" "$2" "$3" "$4"
}

# consumers of both protocols: all records once, the rest of them after a restart
n=60
for protocol in classic consumer; do
  k kafka-console-consumer "${bs[@]}" --topic "$x-groups" --group "$g-$protocol" --from-beginning --max-messages "$n" --command-property "group.protocol=$protocol" > "$d/out"
  [ "$(sort -u "$d/out" | wc -l)" = "$n" ]; verdict "console-consumer-group-$protocol" $?
  n=$((n + 1))
  echo "more$n" | kc -P -t "$x-groups" -p 0
  k kafka-console-consumer "${bs[@]}" --topic "$x-groups" --group "$g-$protocol" --max-messages 1 --command-property "group.protocol=$protocol" > "$d/out"
  [ "$(cat "$d/out")" = "more$n" ]; verdict "console-consumer-group-$protocol-goes-on" $?
done
k kafka-groups "${bs[@]}" --list > "$d/out"
has groups-list-classic "$g-classic +Classic +consumer"
has groups-list-consumer "$g-consumer +Consumer +consumer"
k kafka-groups "${bs[@]}" --list --group-type classic > "$d/out"; hasnt groups-list-by-type "$g-consumer"
cg --list --state empty > "$d/out"; has groups-list-by-state "$g-consumer +Empty"
cg --list --state stable > "$d/out"; hasnt groups-list-by-other-state "$g-consumer"
cg --describe --group "$g-classic" --state > "$d/out"; has groups-describe-state "$g-classic +127.0.0.1:[0-9]+ +\(1\) +Empty +0|$g-classic .*Empty +0"
cg --describe --group "$g-none" > "$d/out" 2> "$d/err2"; cat "$d/err" >> "$d/out"; has groups-describe-missing "does not exist|not found"

# a group that lives: its members, and what may not be done to it
k kafka-console-consumer "${bs[@]}" --topic "$x-groups" --group "$g-live" --from-beginning --max-messages 100 > "$d/live" &
live=$!
for _ in $(seq 30); do cg --describe --group "$g-live" --state > "$d/out"; grep -q Stable "$d/out" && break; done
has groups-describe-state-stable "$g-live.*Stable +1"
cg --describe --group "$g-live" --members --verbose > "$d/out"; has groups-describe-members "$g-live +console-consumer-[0-9a-f-]+ +/127.0.0.1 +console-consumer +3 .*$x-groups:0,1,2"
cg --describe --group "$g-live" > "$d/out"; has groups-describe-offsets "$g-live +$x-groups +1 .* +20 .*console-consumer"
cg --delete --group "$g-live" > "$d/out"; has groups-delete-alive "GroupNotEmptyException"
cg --reset-offsets --group "$g-live" --all-topics --to-earliest --execute > "$d/out"; has groups-reset-alive "inactive|Assignments can only be reset"
seq 100 | kc -P -t "$x-groups" -p 2
wait $live; [ "$(wc -l < "$d/live")" = 100 ]; verdict console-consumer-group-live $?

# resets in all forms; 12, 20 and 130 records are there by now
topics=(--topic "$x-groups")
reset to-earliest 0 0 0 "${topics[@]}" --to-earliest
reset to-latest 12 20 130 "${topics[@]}" --to-latest
reset to-offset 7 7 7 "${topics[@]}" --to-offset 7
reset to-offset-bounded 12 20 25 "${topics[@]}" --to-offset 25
reset shift-back 2 10 15 --all-topics --shift-by -10
reset shift-on 5 13 18 --all-topics --shift-by 3
reset to-current 5 13 18 --all-topics --to-current
reset by-duration 0 0 0 --all-topics --by-duration P1D
reset to-datetime-later 12 20 130 --all-topics --to-datetime "$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%S.000)"
reset to-datetime 0 0 0 --all-topics --to-datetime "$(date -u -d '-1 hour' +%Y-%m-%dT%H:%M:%S.000)"
cg --reset-offsets --group "$g" --topic "$x-groups:1,2" --to-offset 9 --execute > "$d/out"; offsets_are groups-reset-partitions 0 9 9
cg --reset-offsets --group "$g" --all-topics --to-latest --export > "$d/plan"; grep -q "\"$x-groups\",2,130\|$x-groups,2,130" "$d/plan"; verdict groups-reset-export $?
offsets_are groups-reset-dry-run 0 9 9
printf '%s,0,3\n%s,1,4\n%s,2,5\n' "$x-groups" "$x-groups" "$x-groups" > "$d/file"
reset from-file 3 4 5 --from-file "$d/file"

# the end
cg --delete-offsets --group "$g" --topic "$x-groups:1" > "$d/out"; has groups-delete-offsets "$x-groups +1 +Successful"
cg --describe --group "$g" > "$d/out"; hasnt groups-delete-offsets-gone "$x-groups +1 "
cg --delete --group "$g" > "$d/out"; has groups-delete "successful"
cg --list > "$d/out"; hasnt groups-delete-gone "^$g$"

k kafka-consumer-perf-test "${bs[@]}" --topic "$x-perf" --messages 120000 --group "$g-perf" --timeout 30000 > "$d/out"; has consumer-perf-test ', 1200[0-9][0-9], '
for protocol in classic consumer; do
  k kafka-verifiable-consumer "${bs[@]}" --topic "$x-groups" --group-id "$g-verify-$protocol" --group-protocol "$protocol" --max-messages 100 --reset-policy earliest > "$d/out"
  has "verifiable-consumer-$protocol" '"name":"offsets_committed".*"success":true|"success":true.*"offsets_committed"'
  has "verifiable-consumer-$protocol-ends" '"name":"shutdown_complete"'
done
