#!/bin/bash
# Sourced by the scripts in kafka/, and by those that people built on Bitnami's images: variables from files, where things lie, and the
# names under which Bitnami's variables are Kafka's settings.
. /opt/bitnami/scripts/liblog.sh
. /usr/lib/kaja/image.sh

export BITNAMI_ROOT_DIR=/opt/bitnami BITNAMI_VOLUME_DIR=/bitnami MODULE=${MODULE:-kafka} BITNAMI_DEBUG=${BITNAMI_DEBUG:-false}
export KAFKA_BASE_DIR=/opt/bitnami/kafka KAFKA_HOME=/opt/bitnami/kafka KAFKA_VOLUME_DIR=/bitnami/kafka KAFKA_DATA_DIR=/bitnami/kafka/data
export KAFKA_CONF_DIR=/opt/bitnami/kafka/config KAFKA_CONF_FILE=/opt/bitnami/kafka/config/server.properties
export KAFKA_MOUNTED_CONF_DIR=${KAFKA_MOUNTED_CONF_DIR:-/bitnami/kafka/config} KAFKA_CERTS_DIR=/opt/bitnami/kafka/config/certs
export KAFKA_INITSCRIPTS_DIR=/docker-entrypoint-initdb.d KAFKA_LOG_DIR=/opt/bitnami/kafka/logs
export KAFKA_DAEMON_USER=kafka KAFKA_DAEMON_GROUP=root

# X_FILE names a file that holds the value of X.
while IFS= read -r kaja_name; do
  [[ $kaja_name == *?_FILE && $kaja_name != KAFKA_CONF_FILE ]] || continue
  kaja_target=${kaja_name%_FILE}
  [[ $kaja_target == KAFKA_* || $kaja_target == CLUSTER_ID || $kaja_target == ALLOW_PLAINTEXT_LISTENER ]] || continue
  [[ -n ${!kaja_name} && ${!kaja_name} != *$'\n'* ]] || continue
  if [[ -r ${!kaja_name} ]]; then
    export "$kaja_target=$(< "${!kaja_name}")"
    unset "$kaja_name"
  elif [[ $kaja_target != KAFKA_TLS_TRUSTSTORE ]]; then
    warn "Skipping export of '$kaja_target'. '${!kaja_name}' is not readable."
    unset "$kaja_name"
  fi
done < <(compgen -e)

# Variables whose value is what a command prints.
for kaja_name in NODE_ID BROKER_ID CONTROLLER_QUORUM_VOTERS; do
  kaja_target=KAFKA_${kaja_name}_COMMAND
  [[ -z ${!kaja_target:-} ]] || export "KAFKA_CFG_$kaja_name=$(eval "${!kaja_target}")"
done
[[ -z ${BROKER_ID_COMMAND:-} ]] || export KAFKA_CFG_BROKER_ID=$(eval "$BROKER_ID_COMMAND")

# Variables of these images that are no settings of Kafka; with the other names, KAFKA_X is KAFKA_CFG_X.
kaja_switches+="KAFKA_BASE_DIR KAFKA_VOLUME_DIR KAFKA_DATA_DIR KAFKA_CONF_DIR KAFKA_CONF_FILE KAFKA_MOUNTED_CONF_DIR KAFKA_CERTS_DIR KAFKA_INITSCRIPTS_DIR \
KAFKA_LOG_DIR KAFKA_DAEMON_USER KAFKA_DAEMON_GROUP KAFKA_INITIAL_CONTROLLERS KAFKA_CLIENT_USERS KAFKA_CLIENT_PASSWORDS KAFKA_CLIENT_LISTENER_NAME \
KAFKA_INTER_BROKER_USER KAFKA_INTER_BROKER_PASSWORD KAFKA_CONTROLLER_USER KAFKA_CONTROLLER_PASSWORD KAFKA_TLS_TYPE KAFKA_TLS_CLIENT_AUTH \
KAFKA_TLS_TRUSTSTORE_FILE KAFKA_TLS_INTER_BROKER_AUTH KAFKA_CERTIFICATE_PASSWORD KAFKA_SKIP_KRAFT_STORAGE_INIT KAFKA_ENABLE_KRAFT KAFKA_EXTRA_FLAGS \
KAFKA_NODE_ID_COMMAND KAFKA_BROKER_ID_COMMAND KAFKA_CONTROLLER_QUORUM_VOTERS_COMMAND KAFKA_INITSCRIPTS_START_TIMEOUT \
KAFKA_ZOOKEEPER_PROTOCOL KAFKA_ZOOKEEPER_PASSWORD KAFKA_ZOOKEEPER_USER KAFKA_ZOOKEEPER_TLS_TYPE KAFKA_ZOOKEEPER_TLS_VERIFY_HOSTNAME \
KAFKA_ZOOKEEPER_TLS_KEYSTORE_PASSWORD KAFKA_ZOOKEEPER_TLS_TRUSTSTORE_PASSWORD KAFKA_ZOOKEEPER_TLS_TRUSTSTORE_FILE \
KAFKA_CLIENT_USER KAFKA_CLIENT_PASSWORD KAFKA_BROKER_USER KAFKA_BROKER_PASSWORD KAFKA_PORT_NUMBER KAFKA_ZOOKEEPER_BOOTSTRAP_SCRAM_USERS "
kaja_cfg_aside=1
