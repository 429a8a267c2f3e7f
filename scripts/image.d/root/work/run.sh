#!/bin/bash
# The start script of quay.io/ogunalp/kafka-native, which Dev Services of Quarkus run.
exec /work/kafka "$@"
