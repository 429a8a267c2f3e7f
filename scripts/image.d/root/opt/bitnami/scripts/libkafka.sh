#!/bin/bash
# What scripts built on Bitnami's images call most.
. /opt/bitnami/scripts/liblog.sh
is_boolean_yes() { case ${1:-} in 1 | [Yy][Ee][Ss] | [Tt][Rr][Uu][Ee]) return 0 ;; *) return 1 ;; esac; }
am_i_root() { [ "$(id -u)" = 0 ]; }
is_empty_value() { [ -z "${1:-}" ]; }
