#!/bin/bash
# Entry point at the root: Redpanda's when it is asked for, else Bitnami's, which runs any command.
case ${1:-} in
redpanda) shift; exec /usr/bin/redpanda "$@" ;;
rpk) shift; exec /usr/bin/rpk "$@" ;;
esac
exec /opt/bitnami/scripts/kafka/entrypoint.sh "$@"
