package tool

import (
	"context"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func serverStopTool() Tool {
	return Tool{"kafka-server-stop", "Stop the brokers of this machine", runServerStop}
}

// runServerStop sends SIGTERM, or the signal that SIGNAL names, to every broker that it finds, as Kafka's script: of one --process-role or one
// --node-id if they are given.
func runServerStop(_ context.Context, e *Env) int {
	role, node := "", ""
	for _, arg := range e.Args {
		if v, ok := strings.CutPrefix(arg, "--process-role="); ok {
			role = v
		}
		if v, ok := strings.CutPrefix(arg, "--node-id="); ok {
			node = v
		}
	}
	var pids []int
	for pid, args := range e.brokers() {
		if (role == "" && node == "") || e.configured(pid, args, role, node) {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		switch {
		case node != "":
			e.printf("No kafka server with node id '%s' to stop\n", node)
		case role != "":
			e.printf("No kafka server with process role '%s' to stop\n", role)
		default:
			e.println("No kafka server to stop")
		}
		return 1
	}
	code := 0
	for _, pid := range pids {
		if err := syscall.Kill(pid, signalNamed(e.Getenv("SIGNAL"))); err != nil {
			e.errorf("kill %d: %s\n", pid, err)
			code = 1
		}
	}
	return code
}

func signalNamed(name string) syscall.Signal {
	switch strings.TrimPrefix(strings.ToUpper(name), "SIG") {
	case "INT", "2":
		return syscall.SIGINT
	case "KILL", "9":
		return syscall.SIGKILL
	}
	return syscall.SIGTERM
}

const procDir = "/proc"

// brokers are the processes of this program that serve, with their arguments.
func (e *Env) brokers() map[int][]string {
	found := map[int][]string{}
	entries, err := e.FS.ReadDir(procDir)
	if err != nil {
		return found
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		data, err := e.FS.ReadFile(path.Join(procDir, entry.Name(), "cmdline"))
		if err != nil || len(data) == 0 {
			continue
		}
		if args := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00"); serves(args) {
			found[pid] = args[1:]
		}
	}
	return found
}

// serves tells whether a command line is that of a broker: kaja, kaja serve, kaja FILE, kafka-server-start.
func serves(args []string) bool {
	switch name := strings.TrimSuffix(path.Base(args[0]), ".sh"); {
	case name == "kafka-server-start":
		return true
	case name != "kaja" && !strings.HasPrefix(name, "kaja-"):
		return false
	}
	return len(args) == 1 || args[1] == "serve" || args[1] == "kafka-server-start" || strings.HasPrefix(args[1], "--") || strings.Contains(args[1], ".properties")
}

// configured tells whether a broker was started with a role and a node id; empty ones match all.
func (e *Env) configured(pid int, args []string, role, node string) bool {
	settings := clientProperties{}
	for i, arg := range args {
		if strings.HasSuffix(arg, ".properties") {
			name := arg
			if !path.IsAbs(name) {
				name = path.Join(procDir, strconv.Itoa(pid), "cwd", name)
			}
			if data, err := e.FS.ReadFile(name); err == nil {
				if p, err := javaProperties(data); err == nil {
					settings = p
				}
			}
		}
		if k, v, ok := strings.Cut(arg, "="); ok && i > 0 && args[i-1] == "--override" {
			settings[k] = v
		}
	}
	roles := strings.Split(strings.ReplaceAll(settings["process.roles"], " ", ""), ",")
	slices.Sort(roles)
	wanted := strings.Split(strings.ReplaceAll(role, " ", ""), ",")
	slices.Sort(wanted)
	return (role == "" || slices.Equal(roles, wanted)) && (node == "" || settings["node.id"] == node)
}
