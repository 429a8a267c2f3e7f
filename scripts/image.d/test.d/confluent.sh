# cp-kafka and confluent-local
final=etc/kafka/kafka.properties
run=/etc/confluent/docker/run
roles=(KAFKA_PROCESS_ROLES=broker,controller KAFKA_NODE_ID=1 CLUSTER_ID=MkU3OEVBNTcwNTJENDM2Qk KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:29093)

fresh; stub
inside "${roles[@]}" KAFKA_A__B=1 KAFKA_A___B=2 KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://broker:9092 CONFLUENT_SUPPORT_METRICS_ENABLE=false CONFLUENT_SUPPORT_CUSTOMER_ID=anonymous \
  KAFKA_HEAP_OPTS=-Xmx1g -- $run
check "mapping" last $final a_b=1
check "mapping" last $final a-b=2
check "mapping" lacks $final heap
check "support" last $final confluent.support.metrics.enable=false
check "support" last $final confluent.support.customer.id=anonymous
check "data" last $final log.dirs=/var/lib/kafka/data
check "listeners from advertised" last $final listeners=PLAINTEXT://0.0.0.0:9092
check "starts" says "kaja serve /etc/kafka/kafka.properties"
check "cluster id" says CLUSTER_ID=MkU3OEVBNTcwNTJENDM2Qk
inside "${roles[@]}" KAFKA_LOG_DIRS=/tmp/kraft-combined-logs -- $run
check "KAFKA_LOG_DIRS" last $final log.dirs=/tmp/kraft-combined-logs

for v in KAFKA_PORT=9092 KAFKA_HOST=h KAFKA_ADVERTISED_HOST=h KAFKA_ADVERTISED_PORT=9092; do
  fresh
  inside "${roles[@]}" "$v" -- $run
  check "$v" ends 1
  check "$v" says "${v%%=*} is deprecated"
done
fresh; stub
inside "${roles[@]}" KAFKA_PORT=tcp://10.0.0.1:9092 KAFKA_SERVICE_HOST=10.0.0.1 -- $run
check "variables of a service called kafka" ends 0
check "variables of a service called kafka" lacks $final '.*10.0.0.1'
check "variables of a service called kafka" says "KAFKA_PORT=tcp://10.0.0.1:9092 was made by the cluster"
fresh
inside KAFKA_PROCESS_ROLES=controller KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://h:1 -- $run
check "controller with advertised listeners" ends 1

# confluent-local without settings, and as .NET Aspire sets it
fresh; stub
inside -- $run
check "local" last $final listeners=PLAINTEXT://localhost:29092,CONTROLLER://localhost:29093,PLAINTEXT_HOST://0.0.0.0:9092
check "local" last $final advertised.listeners=PLAINTEXT://localhost:29092,PLAINTEXT_HOST://localhost:9092
check "local" last $final process.roles=broker,controller
check "local cluster id" says CLUSTER_ID=4L6g3nShT-eMCtK--X86sw
inside KAFKA_REST_BOOTSTRAP_SERVERS=PLAINTEXT://h:1 KAFKA_REST_HOST_NAME=h -- $run
check "KAFKA_REST_ is not mapped" lacks $final rest
fresh
serving -- $run 'nc -z localhost 9092 && nc -z localhost 29092'
check "local serves" ends 0
fresh
serving KAFKA_LISTENERS=PLAINTEXT://localhost:29092,CONTROLLER://localhost:29093,PLAINTEXT_HOST://0.0.0.0:9092,PLAINTEXT_INTERNAL://0.0.0.0:9093 \
  KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT,PLAINTEXT_INTERNAL:PLAINTEXT \
  KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:29092,PLAINTEXT_HOST://localhost:9092,PLAINTEXT_INTERNAL://kafka:9093 \
  -- $run 'kcat -b localhost:9092 -P -t healthcheck-topic <<< x && kcat -b localhost:9092 -C -t healthcheck-topic -e -o beginning -q'
check "Aspire's settings and its real produce" ends 0
check "Aspire's settings and its real produce" says x

# The ZooKeeper of former days: one combined node
fresh
serving KAFKA_BROKER_ID=2 KAFKA_ZOOKEEPER_CONNECT=zookeeper:2181 KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092 KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1 -- $run 'kcat -b localhost:9092 -L'
check "ZooKeeper's variables" ends 0
check "ZooKeeper's variables" says "broker 2 at localhost:9092"
check "ZooKeeper's words" says "[KafkaServer id=2] started"
for n in zookeeper-server-start /opt/kafka/bin/zookeeper-server-start.sh; do
  fresh
  put tmp/zookeeper.properties <<< clientPort=2182
  inside -- bash -c "$n /tmp/zookeeper.properties & cub wait localhost 2182 5; rc=\$?; kill -TERM \$!; wait \$!; exit \$((rc + \$?))"
  check "$n" ends 0
  check "$n" says "Creating new log file"
done
fresh
inside ZOOKEEPER_CLIENT_PORT=2183 -- bash -c "$run & cub wait localhost 2183 5; rc=\$?; kill -TERM \$!; wait \$!; exit \$((rc + \$?))"
check "in the place of cp-zookeeper" ends 0
fresh
inside -- zookeeper-server-stop
check "zookeeper-server-stop" ends 0

# Cluster ids and preflight checks
fresh
serving "${roles[@]}" KAFKA_LISTENERS=PLAINTEXT://localhost:9092,CONTROLLER://localhost:29093 -- $run '[[ $(< /var/lib/kafka/data/meta.properties) == *cluster.id=MkU3OEVBNTcwNTJENDM2Qk* ]]'
check "formats" ends 0
inside "${roles[@]}" CLUSTER_ID=4L6g3nShT-eMCtK--X86sw KAFKA_LISTENERS=PLAINTEXT://localhost:9092 -- $run
check "another id" ends 1
check "another id" says "Invalid cluster.id"
fresh
inside "${roles[@]}" KAFKA_LOG_DIRS=/proc/none -- $run
check "not writable" ends 1

# TLS, SASL
for p in SSL SASL_PLAINTEXT SASL_SSL; do
  fresh
  inside "${roles[@]}" KAFKA_LISTENERS=X://:9092,CONTROLLER://:29093 KAFKA_ADVERTISED_LISTENERS=X://h:1 KAFKA_INTER_BROKER_LISTENER_NAME=X KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=X:$p,CONTROLLER:PLAINTEXT -- $run
  check "$p is refused" ends 1
  check "$p is refused in one line" one_line
done

# Paths and helpers
for f in run bash-config configure ensure launch; do check "path" there etc/confluent/docker/$f; done
for f in ub cub dub; do check "path" runs usr/bin/$f; done
check "path" there var/lib/kafka/data
check "confluent's command" grep -q '^CMD \["/etc/confluent/docker/run"\]' "$here/Dockerfile"
check "confluent-local's id is in the image's environment" grep -q '^ENV CLUSTER_ID=4L6g3nShT-eMCtK--X86sw' "$here/Dockerfile"
h() { # EXIT NAME K=V... -- COMMAND
  local want=$1; shift
  fresh
  inside "$@"
  check "$*" ends "$want"
}
for u in ub dub cub; do
  h 0 A=1 -- $u ensure A
  h 1 -- $u ensure A
  h 0 B=1 -- $u ensure-atleast-one A B
  h 1 -- $u ensure-atleast-one A B
  h 0 -- $u path /var/lib/kafka/data writable
  h 1 -- $u path /usr/bin writable
  h 0 -- $u path /etc/passwd readable
  h 0 -- $u path /usr/bin/kaja executable
  h 0 -- $u path /etc existence
  h 1 -- $u path /nope existence
  h 1 -- $u wait localhost 9092 0
  h 1 -- $u no-such
  h 0 -- $u zk-ready zookeeper:2181 40
done
h 0 -- ub listeners PLAINTEXT://h:1,X://i:2
check "ub listeners" says PLAINTEXT://0.0.0.0:1,X://0.0.0.0:2
h 0 KAFKA_A__B=1 -- ub propertiesFromEnvPrefix KAFKA_
check "ub propertiesFromEnvPrefix" says a_b=1
h 1 -- cub kafka-ready -b localhost:9092 1 0
fresh
serving -- $run 'dub wait localhost 9092 5'
check "dub wait" ends 0
