#!/bin/bash
# Entry point of Bitnami's images: sets up, unless another command than run.sh was given, and becomes the command.
set -o errexit -o nounset -o pipefail
# The same image in the place of bitnami/zookeeper
if [[ -n ${ALLOW_ANONYMOUS_LOGIN:-} && -z $(compgen -e KAFKA_CFG_) ]]; then
  exec /usr/bin/zookeeper-server-start
fi
. /opt/bitnami/scripts/kafka-env.sh
case "$*" in
*/opt/bitnami/scripts/kafka/run.sh* | *"/run.sh"*)
  info "** Starting Kafka setup **"
  /opt/bitnami/scripts/kafka/setup.sh
  info "** Kafka setup finished! **"
  echo
  ;;
esac
exec "$@"
