package cli

import (
	"path"
	"testing"

	"github.com/kaja-mq/kaja/internal/vfs"
)

func TestCgroupLimit(t *testing.T) {
	f := func(name string, files map[string]string, want int64) {
		t.Helper()
		fs := vfs.NewMem()
		for file, text := range files {
			if err := fs.MkdirAll(path.Dir(file)); err != nil {
				t.Fatal(err)
			}
			if err := fs.WriteFile(file, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if got := cgroupLimit(fs); got != want {
			t.Errorf("%s: limit %d, want %d", name, got, want)
		}
	}
	const self = "/proc/self/cgroup"
	f("no cgroups", nil, 0)
	f("version 2", map[string]string{self: "0::/\n", "/sys/fs/cgroup/memory.max": "536870912\n"}, 512<<20)
	f("version 2 without a limit", map[string]string{self: "0::/\n", "/sys/fs/cgroup/memory.max": "max\n"}, 0)
	f("a limit above", map[string]string{self: "0::/pod/kaja\n", "/sys/fs/cgroup/pod/kaja/memory.max": "max\n", "/sys/fs/cgroup/pod/memory.max": "1000000\n"}, 1000000)
	f("version 1", map[string]string{self: "5:devices:/x\n4:cpu,memory:/x\n", "/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "4096000\n"}, 4096000)
	f("version 1 without a limit", map[string]string{self: "4:memory:/\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0)
}
