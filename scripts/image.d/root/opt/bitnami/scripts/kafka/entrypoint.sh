#!/bin/bash
# Entry point of Bitnami's images: sets up, unless another command than run.sh was given, and becomes the command.
set -o errexit -o nounset -o pipefail
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
