//go:build !planted

package storage

// plantedTombstoneHaste is no bug in what is shipped; see planted_on.go.
const plantedTombstoneHaste = 0
