#!/bin/bash
# Log functions under the names that scripts built for Bitnami's images use.
stderr_print() { printf '%s\n' "$*" >&2; }
log() { stderr_print "${MODULE:-kafka} $(date +%T.%2N) $*"; }
info() { log "INFO  ==> $*"; }
warn() { log "WARN  ==> $*"; }
error() { log "ERROR ==> $*"; }
debug() { case ${BITNAMI_DEBUG:-} in 1 | [Yy][Ee][Ss] | [Tt][Rr][Uu][Ee]) log "DEBUG ==> $*" ;; esac; }
