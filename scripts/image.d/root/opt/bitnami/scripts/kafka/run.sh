#!/bin/bash
# Becomes the broker.
set -o errexit -o nounset -o pipefail
. /opt/bitnami/scripts/kafka-env.sh
[[ -f $KAFKA_CONF_FILE ]] || /opt/bitnami/scripts/kafka/setup.sh
if [[ -n ${KAFKA_CLUSTER_ID:-${KAFKA_KRAFT_CLUSTER_ID:-}} ]]; then
  export CLUSTER_ID=${KAFKA_CLUSTER_ID:-$KAFKA_KRAFT_CLUSTER_ID}
fi
info "** Starting Kafka **"
kaja_serve "$KAFKA_CONF_FILE" "$@"
