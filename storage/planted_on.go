//go:build planted

package storage

// plantedTombstoneHaste lets tombstones go an hour (in ms) before their horizon: a bug that the tests must find.
const plantedTombstoneHaste = 3600_000
