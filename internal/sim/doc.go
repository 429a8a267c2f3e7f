// Package sim is several brokers in one process on virtual time, network and disk, driven by a seed.
package sim
