# Sourced by scripts/containers: what Testcontainers' module for .NET does, in own words, since .NET is not on this machine: a container whose
# command waits for /testcontainers.sh, the script copied in once the ports are known, the line it waits for, a produce and a consume.

# net NAME IMAGE apache|confluent kraft|zookeeper [LISTENER...]: LISTENER is host:port of WithListener
net() {
  local name="dotnet $1" image=$2 vendor=$3 mode=$4 begin=$EPOCHREALTIME id port ip i=0 l extra= listeners=PLAINTEXT://:9092,BROKER://:9093,CONTROLLER://:9094
  local map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT want env=()
  shift 4
  for l in "$@"; do
    listeners+=,TC-$i://$l map+=,TC-$i:PLAINTEXT extra+=${extra:+,}TC-$i://$l
    env+=(--network-alias "${l%%:*}")
    i=$((i + 1))
  done
  [ $# = 0 ] || { podman network exists kaja-dotnet || podman network create kaja-dotnet > /dev/null; env+=(--network kaja-dotnet); }
  if [ "$mode" = kraft ]; then
    env+=(-e KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER -e KAFKA_PROCESS_ROLES=broker,controller)
    want='.*Transitioning from RECOVERY to RUNNING.*'
  else
    env+=(-e KAFKA_ZOOKEEPER_CONNECT=localhost:2181 -p 2181)
    want='\[KafkaServer id=[0-9]+\] started'
  fi
  id=$(podman run -d -p 9092 -p 9093 "${env[@]}" -e KAFKA_LISTENERS=$listeners -e KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=$map -e KAFKA_INTER_BROKER_LISTENER_NAME=BROKER \
    -e KAFKA_BROKER_ID=1 -e KAFKA_NODE_ID=1 -e KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9094 -e KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1 \
    -e KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS=1 -e KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR=1 -e KAFKA_TRANSACTION_STATE_LOG_MIN_ISR=1 \
    -e KAFKA_LOG_FLUSH_INTERVAL_MESSAGES=9223372036854775807 -e KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0 -e CLUSTER_ID=4L6g3nShT-eMCtK--X86sw \
    --entrypoint '["/bin/sh","-c"]' "$image" 'while [ ! -f /testcontainers.sh ]; do sleep 0.1; done; /testcontainers.sh') || { echo "FAIL $name: no container"; return; }
  port=$(podman port "$id" 9092/tcp)
  port=${port##*:}
  ip=$(podman inspect -f '{{.NetworkSettings.IPAddress}}{{range .NetworkSettings.Networks}} {{.IPAddress}}{{end}}' "$id")
  ip=${ip##* }
  {
    echo '#!/bin/bash'
    if [ "$mode" = zookeeper ]; then
      echo "echo '' > /etc/confluent/docker/ensure"
      echo "echo 'clientPort=2181' > zookeeper.properties"
      echo "echo 'dataDir=/var/lib/zookeeper/data' >> zookeeper.properties"
      echo "echo 'dataLogDir=/var/lib/zookeeper/log' >> zookeeper.properties"
      echo "zookeeper-server-start zookeeper.properties &"
    fi
    echo "export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://127.0.0.1:$port,BROKER://$ip:9093,$extra"
    [ "$vendor" = apache ] && echo 'exec /etc/kafka/docker/run' || echo 'exec /etc/confluent/docker/run'
  } > "$tmp/testcontainers.sh"
  chmod 755 "$tmp/testcontainers.sh"
  podman cp "$tmp/testcontainers.sh" "$id:/testcontainers.sh"
  for _ in $(seq 100); do
    podman logs "$id" 2>&1 | grep -qE "$want" && break
    sleep 0.1
  done
  if ! podman logs "$id" 2>&1 | grep -qE "$want"; then
    echo "FAIL $name: not ready, its log:"
    podman logs "$id" 2>&1 | tail -5
  elif ! echo hello | timeout 20 kcat -q -b "127.0.0.1:$port" -P -t modules || [ "$(timeout 20 kcat -q -b "127.0.0.1:$port" -C -t modules -o beginning -c 1)" != hello ]; then
    echo "FAIL $name: serves, but a record does not come back"
  else
    echo "PASS $name ($(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }') s)"
  fi
  podman rm -f -v -t 0 "$id" > /dev/null 2>&1
}

net "cp-kafka:7.5.12, ZooKeeper, its default" docker.io/confluentinc/cp-kafka:7.5.12 confluent zookeeper
net "cp-kafka:8.4.0 WithKRaft" docker.io/confluentinc/cp-kafka:8.4.0 confluent kraft
net "apache/kafka:4.4.0" docker.io/apache/kafka:4.4.0 apache kraft
net "the image's own name WithVendor" localhost/kaja:4.4.0 apache kraft
net "bitnami/kafka:4.4.0 under Apache's script" docker.io/bitnami/kafka:4.4.0 apache kraft
net "apache/kafka-native:4.4.0 WithListener" docker.io/apache/kafka-native:4.4.0 apache kraft kafka:19092 kafka:19093
