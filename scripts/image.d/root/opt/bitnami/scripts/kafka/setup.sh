#!/bin/bash
# Writes /opt/bitnami/kafka/config/server.properties: a mounted file as it is, else Bitnami's defaults with the environment on top.
set -o errexit -o nounset -o pipefail
. /opt/bitnami/scripts/kafka-env.sh

if [[ -f $KAFKA_MOUNTED_CONF_DIR/server.properties ]]; then
  info "Custom configuration $KAFKA_MOUNTED_CONF_DIR/server.properties detected"
  printf '%s\n' "$(< "$KAFKA_MOUNTED_CONF_DIR/server.properties")" > "$KAFKA_CONF_FILE"
else
  given=$(kaja_lines KAFKA_; kaja_lines KAFKA_CFG_)
  printf '%s\n' "$given" > "$KAFKA_CONF_FILE"
  defaults="log.dirs=$KAFKA_DATA_DIR"
  # Who names neither roles nor the ZooKeeper of former days gets one combined node.
  if ! kaja_any "$KAFKA_CONF_FILE" process.roles zookeeper.connect; then
    defaults+=$'\nprocess.roles=controller,broker'
    kaja_any "$KAFKA_CONF_FILE" node.id broker.id || defaults+=$'\nnode.id=1'
  fi
  if ! kaja_any "$KAFKA_CONF_FILE" listeners; then
    if kaja_get "$KAFKA_CONF_FILE" advertised.listeners && kaja_listeners_of "$REPLY"; then
      defaults+=$'\n'listeners=$REPLY
    else
      defaults+=$'\nlisteners=PLAINTEXT://:9092,CONTROLLER://:9093'
    fi
    kaja_any "$KAFKA_CONF_FILE" listener.security.protocol.map || defaults+=$'\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT'
  fi
  kaja_any "$KAFKA_CONF_FILE" controller.listener.names || defaults+=$'\ncontroller.listener.names=CONTROLLER'
  kaja_any "$KAFKA_CONF_FILE" advertised.listeners listeners || defaults+=$'\nadvertised.listeners=PLAINTEXT://:9092'
  printf '%s\n%s\n' "$defaults" "$given" > "$KAFKA_CONF_FILE"
fi

secured=
kaja_get "$KAFKA_CONF_FILE" listener.security.protocol.map && [[ $REPLY == *SASL* || $REPLY == *SSL* ]] && secured=1
if [[ -z $secured ]]; then
  for v in KAFKA_CLIENT_USERS KAFKA_CLIENT_PASSWORDS KAFKA_INTER_BROKER_USER KAFKA_INTER_BROKER_PASSWORD KAFKA_CONTROLLER_USER KAFKA_CONTROLLER_PASSWORD \
    KAFKA_TLS_TYPE KAFKA_TLS_CLIENT_AUTH KAFKA_CERTIFICATE_PASSWORD; do
    [[ -z ${!v:-} ]] || warn "$v is set, but no listener uses SASL or TLS; it has no effect"
  done
fi
if [[ ${KAFKA_INITIAL_CONTROLLERS:-} == *,* ]]; then
  error "KAFKA_INITIAL_CONTROLLERS with several nodes is not supported; name them in KAFKA_CFG_CONTROLLER_QUORUM_VOTERS"
  exit 1
fi

kaja_writable "$KAFKA_CONF_FILE" "$KAFKA_DATA_DIR"
kaja_check_id "$KAFKA_CONF_FILE" "$KAFKA_DATA_DIR" "${KAFKA_CLUSTER_ID:-${KAFKA_KRAFT_CLUSTER_ID:-}}"

# Scripts of the user, once per volume, before the broker starts (as in Bitnami's images).
scripts=$(find "$KAFKA_INITSCRIPTS_DIR"/ -type f -name '*.sh' 2> /dev/null | sort)
if [[ -n $scripts && ! -f $KAFKA_VOLUME_DIR/.user_scripts_initialized ]]; then
  info "Loading user's custom files from $KAFKA_INITSCRIPTS_DIR"
  for f in "$KAFKA_INITSCRIPTS_DIR"/*; do
    case $f in
    *.sh)
      if [[ -x $f ]]; then
        debug "Executing $f"
        "$f" || { error "Failed executing $f"; exit 1; }
      else
        warn "Sourcing $f as it is not executable by the current user, any error may cause initialization to fail"
        . "$f"
      fi
      ;;
    *) warn "Skipping $f, supported formats are: .sh" ;;
    esac
  done
  : > "$KAFKA_VOLUME_DIR/.user_scripts_initialized"
fi
