# apache/kafka and apache/kafka-native
final=opt/kafka/config/server.properties
run=/etc/kafka/docker/run

# The mapping of names
f() { # VARIABLE=VALUE LINE
  fresh; stub
  inside "$1" -- $run
  check "$1" last $final "$2"
}
f KAFKA_A_B=1 a.b=1
f KAFKA_A__B=1 a_b=1
f KAFKA_A___B=1 a-b=1
f KAFKA_A____B=1 a-.b=1
f KAFKA_A_____B=1 a-_b=1
f KAFKA_X_KAFKA_Y=1 x.kafka.y=1
f KAFKA_EMPTY= empty=
f KAFKA_JMX_PORT=9999 jmx.port=9999
f KAFKA_LISTENER_NAME_SECURE_SCRAM-SHA-512_SASL_JAAS_CONFIG=x listener.name.secure.scram-sha-512.sasl.jaas.config=x
f 'KAFKA_ESCAPED=a\tb' 'escaped=a\tb'
f 'KAFKA_LINES=one
two' 'lines=one two'
f KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://h:1, advertised.listeners=PLAINTEXT://h:1

# KAFKA_CFG_ means nothing to Apache's scripts; only the image's default command looks for it
fresh; stub
inside KAFKA_CFG_NUM_PARTITIONS=3 -- /etc/kafka/docker/launch
check "KAFKA_CFG_ under launch" last $final cfg.num.partitions=3

# The broker's slack is set before it begins, unless another is asked for
nap() { # SLACK [VARIABLE=VALUE]
  fresh
  put usr/bin/kaja 755 <<< $'#!/bin/bash\necho "slack $(< /proc/self/timerslack_ns)"'
  inside "${@:2}" -- $run
  check "slack with ${2:-nothing}" [ "${said##*$'\n'}" = "slack $1" ]
}
nap 2000000
nap 50000 KAJA_TIMER_SLACK=0s

# Not mapped
for v in VERSION HEAP_OPTS LOG4J_OPTS OPTS JMX_OPTS JVM_PERFORMANCE_OPTS GC_LOG_OPTS LOG4J_ROOT_LOGLEVEL LOG4J_LOGGERS TOOLS_LOG4J_LOGLEVEL JMX_HOSTNAME; do
  fresh; stub
  inside "KAFKA_$v=x" KAFKA_NODE_ID=1 -- $run
  check "KAFKA_$v is no setting" lacks $final "${v,,}="
  p=${v,,}
  check "KAFKA_$v is no setting, dotted" lacks $final "${p//_/.}"
done
for v in KAFKA_SERVICE_HOST=10.0.0.1 KAFKA_SERVICE_PORT=9092 KAFKA_PORT=tcp://10.0.0.1:9092 KAFKA_PORT_9092_TCP_ADDR=10.0.0.1 KAFKA_BROKER_SERVICE_PORT_CLIENT=1; do
  fresh; stub
  inside "$v" KAFKA_NODE_ID=1 -- $run
  check "$v of a service is no setting" lacks $final '.*(10.0.0.1|service|^port)'
done

# Files
fresh; stub
inside -- $run
check "defaults" last $final process.roles=broker,controller
check "defaults" last $final node.id=1
check "defaults" last $final controller.quorum.voters=1@localhost:9093
check "defaults" last $final listeners=PLAINTEXT://:9092,CONTROLLER://:9093
check "defaults" last $final advertised.listeners=PLAINTEXT://localhost:9092
check "defaults" last $final log.dirs=/tmp/kraft-combined-logs
check "defaults" last $final num.partitions=1
check "defaults" last $final offsets.topic.replication.factor=1
check "defaults" last $final transaction.state.log.replication.factor=1
check "default cluster id" says CLUSTER_ID=5L6g3nShT-eMCtK--X86sw
check "starts with the file" says "kaja serve /opt/kafka/config/server.properties"

fresh; stub
put mnt/shared/config/server.properties <<< $'node.id=7\nnum.partitions=4'
inside KAFKA_NUM_PARTITIONS=5 -- $run
check "mounted file" last $final node.id=7
check "environment after the file" last $final num.partitions=5
check "the file's line stays" grep -q '^num.partitions=4$' "$cell/up/$final"
check "no defaults beside a file" lacks $final process.roles

fresh; stub
inside KAFKA_NODE_ID=3 KAFKA_NUM_PARTITIONS=5 -- $run
check "environment alone, no defaults" lacks $final log.dirs
check "what became a property is out of the environment" [ -z "$(grep -E '^KAFKA_(NODE|NUM)' <<< "$said")" ]

check "data lies in the volume" says "kaja serve /opt/kafka/config/server.properties --override log.dirs=/var/lib/kafka/data"
mkdir -p "$cell/up/tmp/kafka-logs"
inside KAFKA_NODE_ID=3 -- $run
check "data lies in Kafka's default where that was made" says "/tmp/kafka-logs is not writable for uid 1000"
inside KAFKA_NODE_ID=3 KAFKA_LOG_DIRS=/tmp/x -- $run
check "KAFKA_LOG_DIRS" [ -z "$(grep override <<< "$said")" ]

fresh; stub
inside KAFKA_NUM_PARTITIONS=5 -- $run
check "without roles and listeners the defaults stay" last $final advertised.listeners=PLAINTEXT://localhost:9092
check "without roles and listeners the environment wins" last $final num.partitions=5

fresh; stub
inside -- $run KAFKA_NODE_ID=4 CLUSTER_ID=abcdefghijklmnopqrstuv
check "arguments K=V" last $final node.id=4
check "arguments K=V" says CLUSTER_ID=abcdefghijklmnopqrstuv

fresh; stub
inside KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://kafka:9092,OTHER://h:29092 -- $run
check "listeners from advertised" last $final listeners=PLAINTEXT://0.0.0.0:9092,OTHER://0.0.0.0:29092
fresh; stub
inside KAFKA_ADVERTISED_LISTENERS=auto -- $run
check "advertised auto leaves listeners alone" lacks $final listeners=

fresh
inside KAFKA_PROCESS_ROLES=controller KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://h:1 -- $run
check "controller with advertised listeners" ends 1
check "controller with advertised listeners" says "KAFKA_ADVERTISED_LISTENERS is not supported on a KRaft controller."

# Cluster ids
again='[[ $(< /tmp/kraft-combined-logs/meta.properties) == *cluster.id=5L6g3nShT-eMCtK--X86sw* ]]'
fresh
serving -- $run "$again"
check "formats with the default id" ends 0
check "ready: unfenced" says "INFO [BrokerLifecycleManager id=1] The broker has been unfenced. Transitioning from RECOVERY to RUNNING."
check "ready: started" says "[KafkaRaftServer nodeId=1] Kafka Server started"
check "ready: the old words" says "[KafkaServer id=1] started"
serving -- $run "$again"
check "the same id again" ends 0
check "the same id again" says "already formatted"
inside CLUSTER_ID=4L6g3nShT-eMCtK--X86sw -- $run
check "another id" ends 1
check "another id" says "Invalid cluster.id"

# TLS and SASL: what the environment lacks is named; what is complete is refused in one line until kaja has it
fresh
inside KAFKA_ADVERTISED_LISTENERS=SSL://h:9093 -- $run
check "SSL without a key store" ends 1
check "SSL without a key store" says KAFKA_SSL_KEYSTORE_FILENAME
inside KAFKA_ADVERTISED_LISTENERS=SSL://h:9093 KAFKA_SSL_KEYSTORE_FILENAME=ks.jks -- $run
check "SSL without the key's password" says KAFKA_SSL_KEY_CREDENTIALS
for f in ks.jks ts.jks creds; do put "etc/kafka/secrets/$f" <<< secret; done
inside KAFKA_ADVERTISED_LISTENERS=SSL://h:9093 KAFKA_SSL_KEYSTORE_FILENAME=ks.jks KAFKA_SSL_KEY_CREDENTIALS=creds -- $run
check "SSL without the store's password" says KAFKA_SSL_KEYSTORE_CREDENTIALS
tls=(KAFKA_LISTENERS=SSL://:9093 KAFKA_ADVERTISED_LISTENERS=SSL://h:9093 KAFKA_INTER_BROKER_LISTENER_NAME=SSL KAFKA_SSL_KEYSTORE_FILENAME=ks.jks KAFKA_SSL_KEY_CREDENTIALS=creds KAFKA_SSL_KEYSTORE_CREDENTIALS=creds)
for v in required requested; do
  inside "${tls[@]}" KAFKA_SSL_CLIENT_AUTH=$v -- $run
  check "client auth $v without a trust store" says KAFKA_SSL_TRUSTSTORE_FILENAME
  inside "${tls[@]}" KAFKA_SSL_CLIENT_AUTH=$v KAFKA_SSL_TRUSTSTORE_FILENAME=ts.jks -- $run
  check "client auth $v without its password" says KAFKA_SSL_TRUSTSTORE_CREDENTIALS
done
inside "${tls[@]}" KAFKA_SSL_CLIENT_AUTH=required KAFKA_SSL_TRUSTSTORE_FILENAME=ts.jks KAFKA_SSL_TRUSTSTORE_CREDENTIALS=creds -- $run
check "TLS settings" last $final ssl.keystore.location=/etc/kafka/secrets/ks.jks
check "TLS settings" last $final ssl.keystore.password=secret
check "TLS settings" last $final ssl.key.password=secret
check "TLS settings" last $final ssl.truststore.location=/etc/kafka/secrets/ts.jks
check "TLS settings" last $final ssl.truststore.password=secret
check "TLS is refused" ends 1
check "TLS is refused in one line" one_line
fresh
inside KAFKA_LISTENERS=SASL_PLAINTEXT://:9092 KAFKA_ADVERTISED_LISTENERS=SASL_PLAINTEXT://h:9092 -- $run
check "SASL without KAFKA_OPTS" ends 1
check "SASL without KAFKA_OPTS" says KAFKA_OPTS
inside KAFKA_LISTENERS=SASL_PLAINTEXT://:9092 KAFKA_ADVERTISED_LISTENERS=SASL_PLAINTEXT://h:9092 KAFKA_OPTS=-Djava.security.auth.login.config=/etc/kafka/secrets/jaas.conf KAFKA_INTER_BROKER_LISTENER_NAME=SASL_PLAINTEXT -- $run
check "SASL is refused" ends 1
check "SASL is refused in one line" one_line
fresh
inside KAFKA_AUTHORIZER_CLASS_NAME=org.apache.kafka.metadata.authorizer.StandardAuthorizer KAFKA_LISTENERS=PLAINTEXT://localhost:9092 -- $run
check "ACLs are refused" ends 1
check "ACLs are refused in one line" one_line

# Logging
fresh
serving KAFKA_LOG4J_ROOT_LOGLEVEL=ERROR KAFKA_LOG4J_LOGGERS=kafka.controller=WARN,kafka.x=DEBUG KAFKA_TOOLS_LOG4J_LOGLEVEL=ERROR -- $run true
check "the root level is heeded" [ -z "$(grep ' INFO ' <<< "$said")" ]

# Values that 4.4.0 takes
base=(KAFKA_PROCESS_ROLES=broker,controller KAFKA_NODE_ID=1 KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9093)
takes() { # NAME K=V...
  local name=$1; shift
  fresh
  serving "${base[@]}" "$@" -- $run true
  check "takes $name" says "Kafka Server started"
}
l=KAFKA_LISTENERS=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
takes "blanks after commas" "KAFKA_LISTENERS=PLAINTEXT://localhost:9092, CONTROLLER://localhost:9093"
takes "a duplicate advertised entry" $l KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://h:1,PLAINTEXT://h:1
takes "CONTROLLER among the advertised" $l KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://h:1,CONTROLLER://h:2
takes "a trailing comma in the protocol map" $l KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,
takes "unknown keys" $l KAFKA_NO_SUCH=1
takes "zookeeper.connect" $l KAFKA_ZOOKEEPER_CONNECT=zk:2181
takes "broker.id equal to node.id" $l KAFKA_BROKER_ID=1
takes "a trailing comma in the advertised listeners" $l KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://h:1,
# and refuses
refuses() { # NAME TEXT K=V...
  local name=$1 text=$2; shift 2
  fresh
  inside "${base[@]}" "$@" -- $run
  check "refuses $name" ends 1
  check "refuses $name" says "$text"
  check "refuses $name in one line" one_line
}
refuses "an empty listener" "values must not be empty" KAFKA_LISTENERS=PLAINTEXT://localhost:9092,,CONTROLLER://localhost:9093
refuses "an empty advertised listener" "values must not be empty" $l KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://h:1,,PLAINTEXT://h:1
refuses "an empty role" "values must not be empty" $l KAFKA_PROCESS_ROLES=broker,,controller
refuses "empty advertised listeners" "must not be empty" $l KAFKA_ADVERTISED_LISTENERS=
refuses "0.0.0.0 advertised" "0.0.0.0" $l KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://0.0.0.0:9092
refuses "two listeners on one port" "are both on" KAFKA_LISTENERS=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9092
refuses "broker.id beside another node.id" "differ" $l KAFKA_BROKER_ID=2

# Paths, users, programs
for f in run configure configureDefaults launch bash-config server.properties; do check "path" there etc/kafka/docker/$f; done
for f in opt/kafka/bin opt/kafka/config opt/kafka/libs etc/kafka/secrets var/lib/kafka/data mnt/shared/config usr/logs; do check "path /$f" there $f; done
for f in sh bash sed hostname cut nc kcat grep find awk tar; do fresh; inside -- bash -c "command -v $f"; check "program $f" ends 0; done
fresh
inside -- id
check "appuser" says "uid=1000(appuser)"
for who in 1000:1000 1001:0 0:0 1234567:0; do
  for d in /opt/kafka /opt/kafka/config /etc/kafka /etc/kafka/docker /etc/kafka/secrets /etc/confluent/docker /var/lib/kafka/data /mnt/shared/config /usr/logs /tmp /bitnami/kafka /opt/bitnami/kafka/config; do
    fresh
    inside -u $who -- bash -c ": > $d/x && rm $d/x"
    check "$who writes to $d" ends 0
  done
done
check "port 9092" grep -q '^EXPOSE 9092' "$here/Dockerfile"
check "command" grep -q '^CMD \["/etc/kafka/docker/run"\]' "$here/Dockerfile"
check "health check each second" grep -q '^HEALTHCHECK --interval=1s' "$here/Dockerfile"
check "volumes" grep -q '^VOLUME .*/etc/kafka/secrets.*/var/lib/kafka/data.*/mnt/shared/config' "$here/Dockerfile"
check "user" grep -q '^USER appuser' "$here/Dockerfile"
fresh
mkdir -p "$cell/up/full"
inside KAFKA_LOG_DIRS=/proc/none KAFKA_LISTENERS=PLAINTEXT://localhost:9092 -- $run
check "a data directory that cannot be written to is named" says "/proc/none is not writable for uid 1000"
check "a data directory that cannot be written to" ends 1

# kafka-native's program
check "native" runs opt/kafka/kafka.Kafka
fresh; stub
put mnt/shared/config/server.properties <<< node.id=9
inside KAFKA_NUM_PARTITIONS=2 CLUSTER_ID=x -- /opt/kafka/kafka.Kafka setup --default-configs-dir /etc/kafka/docker --mounted-configs-dir /mnt/shared/config --final-configs-dir /opt/kafka/config
check "native setup" last $final node.id=9
check "native setup" last $final num.partitions=2
inside -- /opt/kafka/kafka.Kafka start --config /opt/kafka/config/server.properties -Dlog4j2.configurationFile=/x -Dcom.sun.management.jmxremote=true
check "native start" says "kaja serve /opt/kafka/config/server.properties"
inside -- /opt/kafka/kafka.Kafka
check "native without a command" ends 1

# Scripts under their names
fresh
inside -- kafka-storage.sh random-uuid
check "kafka-storage.sh" matches '^[A-Za-z0-9_-]{22}$'
inside -- kafka-storage random-uuid
check "kafka-storage" matches '^[A-Za-z0-9_-]{22}$'
fresh; stub
put tmp/own.properties <<< node.id=2
inside KAFKA_NODE_ID=5 -- kafka-server-start.sh /tmp/own.properties --override num.partitions=2
check "kafka-server-start.sh takes the file, not the environment" says "kaja serve /tmp/own.properties --override num.partitions=2"
check "kafka-server-start.sh takes the file, not the environment" [ -z "$(grep '^KAFKA_NODE_ID' <<< "$said")" ]
fresh
serving -- "/opt/kafka/bin/kafka-server-start.sh /opt/kafka/config/server.properties" true
check "the packaged file serves" says "Kafka Server started"

# A root file system that can only be read (Kubernetes)
fresh; stub
read_only=1 inside -- $run
check "a read-only root" says "kaja serve /tmp/kaja/server.properties"
