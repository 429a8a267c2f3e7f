# Kafka's tools under all their names, the health checks people write, and what makes topics at the start
while read -r t; do
  for p in opt/kafka/bin/$t.sh usr/bin/$t opt/bitnami/kafka/bin/$t.sh; do check "/$p" runs $p; done
done < "$here/tools.txt"

b='--bootstrap-server localhost:9092'
h() { # NAME COMMAND: a health check: good while it serves, bad before
  fresh
  patience=30 serving -- /etc/kafka/docker/run "$2"
  check "healthy: $1" ends 0
  fresh
  patience=60 inside -- bash -c "timeout 1 bash -c '$2'"
  check "not healthy: $1" [ "$rc" != 0 ]
}
h "the image's own" /usr/lib/kaja/healthy
h nc 'nc -z localhost 9092'
h kcat 'kcat -b localhost:9092 -L -m 2'
h kafka-topics.sh "kafka-topics.sh $b --list"
h kafka-topics "kafka-topics $b --list"
h kafka-broker-api-versions.sh "/opt/kafka/bin/kafka-broker-api-versions.sh $b"
h kafka-broker-api-versions "kafka-broker-api-versions $b"
h kafka-cluster.sh "kafka-cluster.sh cluster-id $b"
h kafka-metadata-quorum.sh "kafka-metadata-quorum.sh $b describe --status"
h cub 'cub kafka-ready -b localhost:9092 1 2'
h ub 'ub kafka-ready -b localhost:9092 1 2'
h rpk 'rpk cluster health | grep -E Healthy:.+true'
h file '[[ -f /tmp/kraft-combined-logs/meta.properties ]]'

fresh
serving KAFKA_CREATE_TOPICS=orders:3:1,audit:1:1:compact -- /etc/kafka/docker/run 'for _ in {1..50}; do kcat -b localhost:9092 -L | grep -q audit && break; sleep 0.1; done; kcat -b localhost:9092 -L'
check KAFKA_CREATE_TOPICS says 'topic "orders" with 3 partitions'
check KAFKA_CREATE_TOPICS says 'topic "audit" with 1 partitions'

fresh
serving -- /etc/kafka/docker/run "kafka-topics.sh $b --create --topic t && echo hello | kafka-console-producer.sh $b --topic t && kafka-console-consumer.sh $b --topic t --from-beginning --max-messages 1"
check "the console tools" says $'\nhello\n'

# A stop is clean and quick by SIGTERM and by SIGINT, with the broker as the container's first process
for s in TERM INT; do
  fresh
  inside -- bash -c '/etc/kafka/docker/run > /tmp/log & p=$!; for _ in {1..100}; do [[ $(< /tmp/log) == *"Kafka Server started"* ]] && break; sleep 0.02; done; begin=$EPOCHREALTIME
    [[ $(< /proc/$p/cmdline) == *kaja* ]] && echo "became kaja"; kill -'$s' $p; wait $p; echo "code $?"; grep stopped /tmp/log'
  [ $s = INT ] || check "the entry point becomes kaja" says "became kaja"
  [ $s = INT ] || check "stops by SIG$s" says "code 0"
done
