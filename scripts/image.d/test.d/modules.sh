# What Testcontainers' modules put into the container and wait for, in own words, with the environment they set; scripts/containers runs
# the real modules. The script of a module is /tmp/tc.sh here, wherever it puts it, and the log is what serving shows.
tc=(KAFKA_INTER_BROKER_LISTENER_NAME=BROKER KAFKA_BROKER_ID=1 KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1 KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS=1
  KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR=1 KAFKA_TRANSACTION_STATE_LOG_MIN_ISR=1 KAFKA_LOG_FLUSH_INTERVAL_MESSAGES=9223372036854775807
  KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0 KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE=false)
id=4L6g3nShT-eMCtK--X86sw
kraft=(CLUSTER_ID=$id KAFKA_NODE_ID=1 KAFKA_PROCESS_ROLES=broker,controller KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9094
  KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT)
zookeeper=(KAFKA_ZOOKEEPER_CONNECT=localhost:2181 KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT)
at9092=KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:9092,BROKER://0.0.0.0:9093,CONTROLLER://0.0.0.0:9094
at9093=KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092,CONTROLLER://0.0.0.0:9094
running='\[BrokerLifecycleManager id=1\] .*Transitioning from RECOVERY to RUNNING.*'
started='\[KafkaServer id=[0-9]+\] started'
server='Kafka Server started'

# module NAME WAITS_FOR SHELL PORT K=V... -- from standard input: the script
module() {
  local name=$1 want=$2 shell=$3 port=$4; shift 4
  fresh
  put tmp/tc.sh 755
  chown 1000:1000 "$cell/up/tmp/tc.sh"
  serving "${tc[@]}" "$@" -- "$shell" "echo hello | kcat -q -b localhost:$port -P -t t && [ \"\$(kcat -q -b localhost:$port -C -t t -o beginning -c 1)\" = hello ]"
  check "$name: waits for $want" matches "$want"
  check "$name: a record comes back" ends 0
}

module "Java kafka.KafkaContainer" "$running" /tmp/tc.sh 9092 "${kraft[@]}" $at9092 <<'S'
#!/bin/bash
export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092,BROKER://kaja-test:9093
/etc/kafka/docker/run
S
module "Java kafka.KafkaContainer with listeners TC-0, TC-1" "$running" /tmp/tc.sh 9092 "${kraft[@]}" $at9092,TC-0://0.0.0.0:19092,TC-1://0.0.0.0:19093 \
  KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TC-0:PLAINTEXT,TC-1:PLAINTEXT <<'S'
#!/bin/bash
export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092,BROKER://kaja-test:9093,TC-0://kafka:19092,TC-1://kafka:19093
/etc/kafka/docker/run
S
module "Java ConfluentKafkaContainer" "$running" /tmp/tc.sh 9092 "${kraft[@]}" $at9092 <<'S'
#!/bin/bash
export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092,BROKER://kaja-test:9093
/etc/confluent/docker/run
S
module "Java containers.KafkaContainer, ZooKeeper" "$started" /tmp/tc.sh 9093 "${zookeeper[@]}" KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092 <<'S'
#!/bin/bash
export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9093,BROKER://kaja-test:9092
echo 'clientPort=2181' > /tmp/zookeeper.properties
echo 'dataDir=/var/lib/zookeeper/data' >> /tmp/zookeeper.properties
echo 'dataLogDir=/var/lib/zookeeper/log' >> /tmp/zookeeper.properties
zookeeper-server-start /tmp/zookeeper.properties &
echo '' > /etc/confluent/docker/ensure
/etc/confluent/docker/run
S
module "Java containers.KafkaContainer withKraft" "$running" /tmp/tc.sh 9093 "${kraft[@]}" $at9093 <<'S'
#!/bin/bash
export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9093,BROKER://kaja-test:9092
sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure
echo 'kafka-storage format --ignore-formatted -t "4L6g3nShT-eMCtK--X86sw" -c /etc/kafka/kafka.properties' >> /etc/confluent/docker/configure
echo '' > /etc/confluent/docker/ensure
/etc/confluent/docker/run
S
check "withKraft: the id given" grep -q "^cluster.id=$id" "$cell/up/var/lib/kafka/data/meta.properties"
module "Go" "$running" "bash /tmp/tc.sh" 9093 "${kraft[@]}" $at9093 KAFKA_REST_BOOTSTRAP_SERVERS=PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092,CONTROLLER://0.0.0.0:9094 <<'S'
#!/bin/bash
source /etc/confluent/docker/bash-config
export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9093,BROKER://kaja-test:9092
echo Starting Kafka KRaft mode
sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure
echo 'kafka-storage format --ignore-formatted -t "$(kafka-storage random-uuid)" -c /etc/kafka/kafka.properties' >> /etc/confluent/docker/configure
echo '' > /etc/confluent/docker/ensure
/etc/confluent/docker/configure
/etc/confluent/docker/launch
S
check "Go: the random id counts" [ -z "$(grep "^cluster.id=$id" "$cell/up/var/lib/kafka/data/meta.properties")" ]
module "Python, its default" "$started" "sh /tmp/tc.sh" 9093 KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092 KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT \
  KAFKA_LOG_FLUSH_INTERVAL_MESSAGES=10000000 <<'S'
#!/bin/bash
echo 'clientPort=2181' > zookeeper.properties
echo 'dataDir=/var/lib/zookeeper/data' >> zookeeper.properties
echo 'dataLogDir=/var/lib/zookeeper/log' >> zookeeper.properties
zookeeper-server-start zookeeper.properties &
export KAFKA_ZOOKEEPER_CONNECT='localhost:2181'
export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9093,BROKER://127.0.0.1:9092
. /etc/confluent/docker/bash-config
/etc/confluent/docker/configure
/etc/confluent/docker/launch
S
module "Python with_kraft" "$server" "sh /tmp/tc.sh" 9093 "${kraft[@]}" $at9093 CLUSTER_ID=MkU3OEVBNTcwNTJENDM2Qk <<'S'
#!/bin/bash
sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure
echo 'kafka-storage format --ignore-formatted -t MkU3OEVBNTcwNTJENDM2Qk -c /etc/kafka/kafka.properties' >> /etc/confluent/docker/configure
export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9093,BROKER://$(echo 127.0.0.1 $(hostname) | cut -d' ' -f1):9092
. /etc/confluent/docker/bash-config
/etc/confluent/docker/configure
/etc/confluent/docker/launch
S
module "Node, ZooKeeper" "$started" /tmp/tc.sh 9093 "${zookeeper[@]}" KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092 <<'S'
#!/bin/bash
export KAFKA_ADVERTISED_LISTENERS=BROKER://kaja-test:9092,PLAINTEXT://localhost:9093
echo '' > /etc/confluent/docker/ensure
echo 'clientPort=2181' > zookeeper.properties
echo 'dataDir=/var/lib/zookeeper/data' >> zookeeper.properties
echo 'dataLogDir=/var/lib/zookeeper/log' >> zookeeper.properties
zookeeper-server-start zookeeper.properties &
/etc/confluent/docker/run
S
module "Node withKraft" "$running" /tmp/tc.sh 9093 "${kraft[@]}" $at9093 <<'S'
#!/bin/bash
export KAFKA_ADVERTISED_LISTENERS=BROKER://kaja-test:9092,PLAINTEXT://localhost:9093
/etc/confluent/docker/run
S
# Node with a SASL listener: the user of kafka-storage --add-scram and the listener come with access control
fresh
inside "${tc[@]}" "${kraft[@]}" KAFKA_LISTENERS=SECURE://0.0.0.0:9096,PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092,CONTROLLER://0.0.0.0:9094 \
  KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT KAFKA_SASL_ENABLED_MECHANISMS=SCRAM-SHA-512 \
  KAFKA_SSL_KEYSTORE_LOCATION=/etc/kafka/secrets/server.keystore.pfx KAFKA_SSL_KEYSTORE_TYPE=PKCS12 \
  KAFKA_LISTENER_NAME_SECURE_SCRAM-SHA-512_SASL_JAAS_CONFIG='org.apache.kafka.common.security.scram.ScramLoginModule required;' \
  KAFKA_ADVERTISED_LISTENERS=BROKER://kaja-test:9092,PLAINTEXT://localhost:9093,SECURE://localhost:9096 -- /bin/sh -c '/etc/confluent/docker/run'
check "Node withSaslSslListener is refused" ends 1
check "Node withSaslSslListener is refused in one line" one_line
check "Node withSaslSslListener: the mechanism's variable arrives through sh" last etc/kafka/kafka.properties "listener.name.secure.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;"
blank=KAFKA_LISTENERS=PLAINTEXT://:9092,BROKER://:9093,CONTROLLER://:9094
module ".NET, Apache" "$running" /tmp/tc.sh 9092 "${kraft[@]}" $blank <<'S'
#!/bin/bash
export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092,BROKER://127.0.0.1:9093,
exec /etc/kafka/docker/run
S
module ".NET, Confluent WithKRaft" "$running" /tmp/tc.sh 9092 "${kraft[@]}" $blank <<'S'
#!/bin/bash
export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092,BROKER://127.0.0.1:9093,
exec /etc/confluent/docker/run
S
module ".NET, Confluent, its default" "$started" /tmp/tc.sh 9092 "${kraft[@]:1:1}" KAFKA_ZOOKEEPER_CONNECT=localhost:2181 KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9094 \
  KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT $blank <<'S'
#!/bin/bash
echo '' > /etc/confluent/docker/ensure
echo 'clientPort=2181' > zookeeper.properties
zookeeper-server-start zookeeper.properties &
export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092,BROKER://127.0.0.1:9093,
exec /etc/confluent/docker/run
S
module "Rust" "$server" "bash /tmp/tc.sh" 9092 "${kraft[@]}" $at9092 CLUSTER_ID=5L6g3nShT-eMCtK--X86sw <<'S'
echo '#!/usr/bin/env bash
export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://127.0.0.1:9092,BROKER://localhost:9093
/etc/kafka/docker/run 
' > /opt/kafka/testcontainers_start.sh
chmod 755 /opt/kafka/testcontainers_start.sh && /opt/kafka/testcontainers_start.sh
S
rust=(KAFKA_ZOOKEEPER_CONNECT=localhost:2181 KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092 KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT
  KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9093,BROKER://localhost:9092)
module "Rust, Confluent" "Creating new log file" "bash /tmp/tc.sh" 9093 "${rust[@]}" <<'S'
echo 'clientPort=2181' > /tmp/zookeeper.properties
zookeeper-server-start /tmp/zookeeper.properties &
. /etc/confluent/docker/bash-config
/etc/confluent/docker/configure
/etc/confluent/docker/launch
S
check "Rust, Confluent: its second line" says "Checking need to trigger auto leader balancing"
fresh
serving "${tc[@]}" "${rust[@]}" -- /etc/confluent/docker/run 'kafka-configs --alter --bootstrap-server 0.0.0.0:9092 --entity-type brokers --entity-name 1 --add-config "advertised.listeners=[PLAINTEXT://127.0.0.1:32768,BROKER://localhost:9092]" && kcat -b localhost:9092 -L | grep -q "broker 1 at localhost:9092" && kcat -b localhost:9093 -L'
check "Rust, Confluent: the advertised listener is changed while it runs" says "broker 1 at 127.0.0.1:32768"

# Strimzi's test container writes a file and calls Kafka's scripts from the working directory
fresh
put opt/kafka/config/kraft/server.properties < "$here/root/etc/kafka/docker/server.properties"
put tmp/tc.sh 755 <<S
#!/bin/bash
bin/kafka-storage.sh format -t="$id" -c /opt/kafka/config/kraft/server.properties
bin/kafka-server-start.sh /opt/kafka/config/kraft/server.properties
S
serving CLUSTER_ID=x -- /tmp/tc.sh 'nc -z localhost 9092'
check "Strimzi" matches "$running"
check "Strimzi's controller" says "$server"
check "Strimzi formats" says "Formatting metadata directory /tmp/kraft-combined-logs"

# Quarkus: ogunalp's image
fresh
serving -- "/work/run.sh -Dkafka.advertised.listeners=PLAINTEXT://localhost:9092 -Dkafka.num.partitions=3" 'for _ in {1..50}; do grep -q "Kafka broker started" /tmp/case.log && break; sleep 0.1; done; kcat -b localhost:9092 -L'
check "ogunalp's image" says "Kafka broker started"
check "ogunalp's settings" last work/server.properties num.partitions=3
check "ogunalp's path" runs work/kafka
