# Redpanda's entry point, options and words
final=etc/redpanda/kaja.properties
dev=(redpanda start --mode dev-container --smp 1 --memory 1G --reserve-memory 0M --overprovisioned --node-id 0 --check=false --default-log-level=info)
r() { inside -u 101:101 -d / "$@"; }

fresh; stub
r -- /entrypoint.sh "${dev[@]}" --kafka-addr internal://0.0.0.0:9092,external://0.0.0.0:19092 --advertise-kafka-addr internal://redpanda:9092,external://localhost:19092 \
  --pandaproxy-addr internal://0.0.0.0:8082 --schema-registry-addr internal://0.0.0.0:8081 --rpc-addr redpanda:33145 --set redpanda.auto_create_topics_enabled=false --set redpanda.default_topic_partitions=3
check "options" last $final node.id=0
check "options" last $final listeners=internal://0.0.0.0:9092,external://0.0.0.0:19092
check "options" last $final advertised.listeners=internal://redpanda:9092,external://localhost:19092
check "options" last $final auto.create.topics.enable=false
check "options" last $final num.partitions=3
check "dev-container" last $final group.initial.rebalance.delay.ms=0
check "dev-container" last $final offsets.topic.num.partitions=3
fresh; stub
r -- /entrypoint.sh "${dev[@]}" "--kafka-addr external://0.0.0.0:19092" "--advertise-kafka-addr external://localhost:19092"
check "an option and its value in one item" last $final listeners=external://0.0.0.0:19092
check "dev-container" last $final auto.create.topics.enable=true
fresh; stub
r -- /usr/bin/rpk redpanda start --check=false --kafka-addr PLAINTEXT://0.0.0.0:29092,OUTSIDE://0.0.0.0:9092 --advertise-kafka-addr PLAINTEXT://127.0.0.1:29092,OUTSIDE://h:9092
check "rpk" last $final listeners=PLAINTEXT://0.0.0.0:29092,OUTSIDE://0.0.0.0:9092
check "not dev-container" last $final auto.create.topics.enable=false
fresh; stub
put etc/redpanda/redpanda.yaml <<'Y'
# Injected by testcontainers
redpanda:
  kafka_api:
    - address: 0.0.0.0
      name: external
      port: 9092
      authentication_method: none

    # a comment
    - address: 0.0.0.0
      name: internal
      port: 9093
      authentication_method: none

  advertised_kafka_api:
    - address: localhost
      name: external
      port: 32768
    - address: 127.0.0.1
      name: internal
      port: 9093

schema_registry:
  schema_registry_api:
  - address: "0.0.0.0"
    port: 8081
Y
r -- /entrypoint.sh redpanda start --mode=dev-container --smp=1 --memory=1G
check "redpanda.yaml" last $final listeners=external://0.0.0.0:9092,internal://0.0.0.0:9093
check "redpanda.yaml" last $final advertised.listeners=external://localhost:32768,internal://127.0.0.1:9093
put etc/redpanda/redpanda.yaml <<< $'redpanda:\n  enable_sasl: true'
r -- /entrypoint.sh redpanda start
check "SASL in redpanda.yaml" ends 1
check "SASL in redpanda.yaml" one_line
for v in RP_BOOTSTRAP_USER=u:p REDPANDA_SEEDS=a:1,b:2; do
  fresh
  r $v -- /entrypoint.sh redpanda start
  check "$v is refused" ends 1
  check "$v is refused in one line" one_line
done
fresh
r -- /entrypoint.sh redpanda start --seeds a:33145,b:33145
check "--seeds is refused" ends 1
r -- /entrypoint.sh redpanda start --no-such
check "an unknown option" ends 1
fresh
serving -u 101:101 -- "/entrypoint.sh ${dev[*]}" 'for _ in {1..50}; do grep -q "Successfully started" /tmp/case.log && break; sleep 0.1; done; rpk cluster health | grep -E "Healthy:.+true" && kcat -b localhost:9092 -L'
check "serves" ends 0
check "words" says "Successfully started Redpanda!"
check "words" says "Started Kafka API server"
fresh
r -- rpk cluster health
check "rpk cluster health without a broker" ends 1
check "path" there etc/redpanda
