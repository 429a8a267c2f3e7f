package cli

import (
	"math"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/internal/vfs"
)

// cgroupShare is the part of the cgroup's memory that Go may use before it collects harder: the page cache of the logs lives in the
// rest, and the kernel ends a process that passes the limit.
const cgroupShare = 0.8

// limitMemory makes the collector respect the limit of the container, unless GOMEMLIMIT says something else.
func (p *Process) limitMemory(log zerolog.Logger) {
	if slices.ContainsFunc(p.Env, func(kv string) bool { return strings.HasPrefix(kv, "GOMEMLIMIT=") }) {
		return // the runtime has read it
	}
	limit := cgroupLimit(p.FS)
	if limit == 0 {
		return
	}
	debug.SetMemoryLimit(int64(float64(limit) * cgroupShare))
	log.Debug().Int64("cgroup_bytes", limit).Msg("memory limit taken from the cgroup")
}

// cgroupLimit is the smallest memory limit of this process's cgroup and those above it, in bytes; 0 when there is none.
func cgroupLimit(fs vfs.FS) int64 {
	text, err := fs.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0 // no Linux
	}
	least := int64(math.MaxInt64)
	for line := range strings.Lines(string(text)) {
		// hierarchy:controllers:path, with no controllers in version 2
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		if parts[1] != "" {
			if !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			if b, err := fs.ReadFile(path.Join(root, dir, file)); err == nil { // a container may not see what lies above it
				if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil { // "max" is no number
					least = min(least, n)
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	if least >= noLimit {
		return 0
	}
	return least
}

// noLimit is what version 1 says where there is none: the largest number of pages, in bytes, whatever their size.
const noLimit = math.MaxInt64 &^ (1<<20 - 1)
