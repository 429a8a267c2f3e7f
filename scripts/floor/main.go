package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	dir := flag.String("dir", "", "where the file is written (the disk that the brokers use)")
	mib := flag.Int("mib", 256, "MiB for each figure")
	conns := flag.Int("conns", 2, "connections")
	rounds := flag.Int("rounds", 3, "rounds; medians are printed")
	server := flag.Bool("server", false, "be the server")
	flag.Parse()
	var err error
	if *server {
		err = serve(*dir)
	} else {
		err = drive(*dir, *mib, *conns, *rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// drive starts the server, measures it and ends it.
func drive(dir string, mib, conns, rounds int) error {
	own, err := os.MkdirTemp(dir, "floor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(own)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-server", "-dir", own)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill() // it has nothing to lose
		_ = cmd.Wait()         // killed
	}()
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	all := map[string][]float64{}
	for range rounds {
		for _, l := range loads(mib) {
			v, err := l.run(strings.TrimSpace(addr), cmd.Process.Pid, conns)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			all[l.name] = append(all[l.name], v)
		}
	}
	medians := map[string]float64{}
	for name, v := range all {
		slices.Sort(v)
		medians[name] = float64(int(v[len(v)/2]*1000+0.5)) / 1000
	}
	line, err := json.Marshal(medians)
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return nil
}

// load is one figure: count requests of size bytes, or count answers of size bytes.
type load struct {
	name        string
	size, count int
	send        bool // the server sends the bytes
}

func loads(mib int) []load {
	n := func(size int) int { return mib << 20 / size }
	return []load{
		{name: "write_16KiB", size: 16 << 10, count: n(16 << 10)},
		{name: "write_64KiB", size: 64 << 10, count: n(64 << 10)},
		{name: "write_1MiB", size: 1 << 20, count: n(1 << 20)},
		{name: "send_64KiB", size: 64 << 10, count: n(64 << 10), send: true},
		{name: "send_1MiB", size: 1 << 20, count: n(1 << 20), send: true},
		{name: "send_16MiB", size: 16 << 20, count: n(16 << 20), send: true},
		{name: "write_100B_us", size: 100, count: 50_000},
	}
}

// run gives CPU seconds per GiB, or microseconds per request where the name says so.
func (l load) run(addr string, pid, conns int) (float64, error) {
	cs := make([]net.Conn, conns)
	for i := range cs {
		var err error
		if cs[i], err = net.Dial("tcp", addr); err != nil {
			return 0, err
		}
		defer cs[i].Close()
	}
	before := threadCPU(pid)
	errs := make(chan error, conns)
	for _, c := range cs {
		go func() { errs <- l.client(c, l.count/conns) }()
	}
	var err error
	for range cs {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		return 0, err
	}
	cpu := threadCPU(pid) - before // the threads live as long as the connections
	total := l.count / conns * conns
	if strings.HasSuffix(l.name, "_us") {
		return cpu * 1e6 / float64(total), nil
	}
	return cpu / (float64(total) * float64(l.size) / (1 << 30)), nil
}

// outstanding is how many requests a client keeps in flight: as many as the generator does.
const outstanding = 5

func (l load) client(c net.Conn, n int) error {
	frame := make([]byte, 4+l.size)
	if l.send {
		frame = make([]byte, 4+8)
		frame[4] = 1
		binary.BigEndian.PutUint32(frame[8:], uint32(l.size))
	}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	inflight := outstanding
	if l.send || l.size < 4096 {
		inflight = 1
	}
	r := bufio.NewReaderSize(c, 256<<10)
	slots := make(chan struct{}, inflight)
	written, failed := make(chan error, 1), make(chan struct{})
	go func() {
		for range n {
			select {
			case slots <- struct{}{}:
			case <-failed:
				written <- nil
				return
			}
			if _, err := c.Write(frame); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	answer := 64
	if l.send {
		answer = l.size
	}
	for range n {
		if _, err := io.CopyN(io.Discard, r, int64(answer)); err != nil {
			close(failed)
			return errors.Join(err, c.Close(), <-written)
		}
		<-slots
	}
	return <-written
}

// threadCPU sums the run time of a process's living threads in seconds.
func threadCPU(pid int) float64 {
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is well-formed
	var sum float64
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil { // a thread may end at any time
			var ns float64
			_, _ = fmt.Sscan(string(b), &ns)
			sum += ns
		}
	}
	return sum / 1e9
}
