# Bitnami
final=opt/bitnami/kafka/config/server.properties
entry=/opt/bitnami/scripts/kafka/entrypoint.sh
run="$entry /opt/bitnami/scripts/kafka/run.sh"
b() { inside -u 1001:0 -d /opt/bitnami/kafka "$@"; }
kraft=(KAFKA_CFG_NODE_ID=0 KAFKA_CFG_PROCESS_ROLES=controller,broker KAFKA_CFG_LISTENERS=PLAINTEXT://:9092,CONTROLLER://:9093
  KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT KAFKA_CFG_CONTROLLER_QUORUM_VOTERS=0@localhost:9093
  KAFKA_CFG_CONTROLLER_LISTENER_NAMES=CONTROLLER KAFKA_CFG_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092)

fresh; stub
b "${kraft[@]}" KAFKA_CFG_A__B=1 KAFKA_NUM_PARTITIONS=2 KAFKA_CFG_NUM_PARTITIONS=3 ALLOW_PLAINTEXT_LISTENER=yes BITNAMI_DEBUG=true KAFKA_ENABLE_KRAFT=yes -- $run
check "mapping" last $final a_b=1
check "KAFKA_CFG_X wins over KAFKA_X" last $final num.partitions=3
check "data" last $final log.dirs=/bitnami/kafka/data
check "starts" says "kaja serve /opt/bitnami/kafka/config/server.properties"
check "log lines" says "** Starting Kafka setup **"
check "log lines" says "** Kafka setup finished! **"
check "log lines" says "** Starting Kafka **"
check "what is no setting" lacks $final '(enable.kraft|home|base.dir|volume|daemon|data.dir)'

# The names that Bitnami knows without CFG_
for n in ADVERTISED_LISTENERS BROKER_ID DEFAULT_REPLICATION_FACTOR DELETE_TOPIC_ENABLE INTER_BROKER_LISTENER_NAME LISTENERS LISTENER_SECURITY_PROTOCOL_MAP LOGS_DIRS \
  LOG_FLUSH_INTERVAL_MESSAGES LOG_FLUSH_INTERVAL_MS LOG_MESSAGE_FORMAT_VERSION LOG_RETENTION_BYTES LOG_RETENTION_CHECK_INTERVALS_MS LOG_RETENTION_HOURS \
  LOG_SEGMENT_BYTES MESSAGE_MAX_BYTES NUM_IO_THREADS NUM_NETWORK_THREADS NUM_PARTITIONS NUM_RECOVERY_THREADS_PER_DATA_DIR OFFSETS_TOPIC_REPLICATION_FACTOR \
  SOCKET_RECEIVE_BUFFER_BYTES SOCKET_REQUEST_MAX_BYTES SOCKET_SEND_BUFFER_BYTES SSL_ENDPOINT_IDENTIFICATION_ALGORITHM TRANSACTION_STATE_LOG_MIN_ISR \
  TRANSACTION_STATE_LOG_REPLICATION_FACTOR ZOOKEEPER_CONNECT ZOOKEEPER_CONNECTION_TIMEOUT_MS AUTO_CREATE_TOPICS_ENABLE; do
  fresh; stub
  p=${n,,}
  b KAFKA_CFG_PROCESS_ROLES=controller,broker "KAFKA_$n=PLAINTEXT://x:1" -- $run
  check "KAFKA_$n" last $final "${p//_/.}=PLAINTEXT://x:1"
done

# Cluster ids
for v in KAFKA_CLUSTER_ID KAFKA_KRAFT_CLUSTER_ID; do
  fresh; stub
  b $v=abcdefghijklmnopqrstuv -- $run
  check "$v" says CLUSTER_ID=abcdefghijklmnopqrstuv
done
fresh
serving -u 1001:0 "${kraft[@]}" KAFKA_KRAFT_CLUSTER_ID=abcdefghijklmnopqrstuv KAFKA_SKIP_KRAFT_STORAGE_INIT=true -- "$run" '[[ $(< /bitnami/kafka/data/meta.properties) == *cluster.id=abcdefghijklmnopqrstuv* ]] && kcat -b localhost:9092 -L'
check "formats and serves as 1001" ends 0
check "formats and serves as 1001" says "broker 0 at localhost:9092"
b "${kraft[@]}" KAFKA_KRAFT_CLUSTER_ID=abcdefghijklmnopqrstuv KAFKA_CFG_LISTENERS=PLAINTEXT//x -- $run
check "the same id again" says "already formatted"
b "${kraft[@]}" KAFKA_KRAFT_CLUSTER_ID=zbcdefghijklmnopqrstuv -- $run
check "another id" ends 1
check "another id" says "Invalid cluster.id"

# Without settings, by the image's default command, by the old paths, by another command
fresh
serving -u 1001:0 -- "$run" 'nc -z localhost 9092'
check "without settings" ends 0
fresh
serving "${kraft[@]}" -- /etc/kafka/docker/run 'kcat -b localhost:9092 -L'
check "Bitnami's variables under the default command" ends 0
check "Bitnami's variables under the default command" says "broker 0 at"
fresh; stub
b "${kraft[@]}" -- /entrypoint.sh /run.sh
check "/entrypoint.sh /run.sh" says "kaja serve /opt/bitnami/kafka/config/server.properties"
b "${kraft[@]}" -- $entry echo hello
check "another command" says hello
check "another command starts nothing" [ -z "$(grep 'kaja serve' <<< "$said")" ]
fresh; stub
b KAFKA_CFG_ZOOKEEPER_CONNECT=zookeeper:2181 KAFKA_CFG_BROKER_ID=3 -- $run
check "ZooKeeper's variables" last $final broker.id=3
check "ZooKeeper's variables" lacks $final node.id
fresh
serving -u 1001:0 KAFKA_CFG_ZOOKEEPER_CONNECT=zookeeper:2181 ALLOW_PLAINTEXT_LISTENER=yes KAFKA_CFG_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092 -- "$run" 'kcat -b localhost:9092 -L'
check "ZooKeeper's variables serve" ends 0

# Values from files and commands
fresh; stub
put run/secrets/v <<< 7
put run/secrets/id <<< abcdefghijklmnopqrstuv
b KAFKA_CFG_NUM_PARTITIONS_FILE=/run/secrets/v KAFKA_KRAFT_CLUSTER_ID_FILE=/run/secrets/id KAFKA_CLIENT_PASSWORDS_FILE=/run/secrets/none -- $run
check "_FILE" last $final num.partitions=7
check "_FILE leaves no setting" lacks $final '.*file='
check "_FILE" says CLUSTER_ID=abcdefghijklmnopqrstuv
check "_FILE that is missing" says "Skipping export of 'KAFKA_CLIENT_PASSWORDS'. '/run/secrets/none' is not readable."
for n in KAFKA_CLIENT_USERS KAFKA_CLIENT_PASSWORDS KAFKA_INTER_BROKER_USER KAFKA_INTER_BROKER_PASSWORD KAFKA_CONTROLLER_USER KAFKA_CONTROLLER_PASSWORD KAFKA_CERTIFICATE_PASSWORD KAFKA_TLS_TYPE KAFKA_TLS_CLIENT_AUTH; do
  fresh; stub
  put run/secrets/v <<< s3cret
  b "${n}_FILE=/run/secrets/v" KAFKA_CLIENT_LISTENER_NAME=CLIENT -- $run
  check "${n}_FILE" says "$n is set, but no listener uses SASL or TLS"
  check "${n}_FILE" lacks $final '.*s3cret'
done
fresh; stub
b KAFKA_NODE_ID_COMMAND='echo 4' KAFKA_CONTROLLER_QUORUM_VOTERS_COMMAND='echo 4@localhost:9093' -- $run
check "_COMMAND" last $final node.id=4
check "_COMMAND" last $final controller.quorum.voters=4@localhost:9093
fresh; stub
b KAFKA_CFG_ZOOKEEPER_CONNECT=z KAFKA_BROKER_ID_COMMAND='hostname | tr -dc 0-9; echo 5' -- $run
check "_COMMAND" last $final broker.id=5
# as the charts take the node's number from the ordinal of a StatefulSet
fresh; stub
b MY_POD_NAME=kafka-controller-2 -- bash -c 'export KAFKA_CFG_NODE_ID=$((${MY_POD_NAME##*-} + 0)); exec /entrypoint.sh /run.sh'
check "ordinal" last $final node.id=2

# A mounted file counts alone
fresh; stub
put bitnami/kafka/config/server.properties <<< node.id=8
b KAFKA_CFG_NUM_PARTITIONS=3 -- $run
check "mounted file" last $final node.id=8
check "mounted file" lacks $final num.partitions

# Controllers
fresh; stub
b KAFKA_INITIAL_CONTROLLERS=0@localhost:9093:abcdefghijklmnopqrstuv -- $run
check "one initial controller" ends 0
b KAFKA_INITIAL_CONTROLLERS=0@a:9093:x,1@b:9093:y -- $run
check "several initial controllers" ends 1
check "several initial controllers" says "KAFKA_CFG_CONTROLLER_QUORUM_VOTERS"

# SASL, TLS
for p in SASL_PLAINTEXT SSL SASL_SSL; do
  fresh
  b "${kraft[@]}" KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,PLAINTEXT:$p KAFKA_CLIENT_USERS=u KAFKA_CLIENT_PASSWORDS=p KAFKA_TLS_TYPE=PEM -- $run
  check "$p is refused" ends 1
  check "$p is refused in one line" one_line
done

# Scripts of the user: once per volume, executed or sourced, a failing one ends the start
fresh; stub
put docker-entrypoint-initdb.d/a.sh 755 <<< $'#!/bin/bash\necho executed as $0'
put docker-entrypoint-initdb.d/b.sh 644 <<< 'echo sourced by $0'
put docker-entrypoint-initdb.d/c.txt <<< x
b BITNAMI_DEBUG=true -- $run
check "init scripts" says "executed as /docker-entrypoint-initdb.d/a.sh"
check "init scripts" says "sourced by /opt/bitnami/scripts/kafka/setup.sh"
check "init scripts" says "Skipping /docker-entrypoint-initdb.d/c.txt"
check "BITNAMI_DEBUG" says "DEBUG ==> Executing /docker-entrypoint-initdb.d/a.sh"
b -- $run
check "init scripts run once" [ -z "$(grep executed <<< "$said")" ]
fresh; stub
put docker-entrypoint-initdb.d/a.sh 755 <<< $'#!/bin/bash\nexit 3'
b -- $run
check "a failing init script" ends 1
check "a failing init script" says "Failed executing /docker-entrypoint-initdb.d/a.sh"

for f in opt/bitnami/kafka/bin opt/bitnami/kafka/config opt/bitnami/kafka/logs bitnami/kafka/data bitnami/kafka/config docker-entrypoint-initdb.d entrypoint.sh run.sh; do check "path /$f" there $f; done
for f in entrypoint run setup; do check "path" runs opt/bitnami/scripts/kafka/$f.sh; done
check "path" runs opt/bitnami/kafka/bin/kafka-storage.sh
fresh
inside -u 1001:0 -- id -u
check "uid" says 1001
check "entry point" grep -q '^ENTRYPOINT \["/opt/bitnami/scripts/kafka/entrypoint.sh"\]' "$here/Dockerfile"
check "command" grep -q '^CMD \["/opt/bitnami/scripts/kafka/run.sh"\]' "$here/Dockerfile"
check "user" grep -q '^USER 1001' "$here/Dockerfile"
