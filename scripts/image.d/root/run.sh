#!/bin/bash
exec /opt/bitnami/scripts/kafka/run.sh "$@"
