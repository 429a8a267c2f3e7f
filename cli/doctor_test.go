package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/server"
)

// patients are doctors in a world of their own: names and addresses are what the test says.
type patients struct {
	*doctor
	out   bytes.Buffer
	names map[string]string // name → address
	hosts map[string]string // address that is dialled → where it really is
}

func newPatient(mem vfs.FS, clk clock.Clock) *patients {
	w := &patients{names: map[string]string{}, hosts: map[string]string{}}
	p := &Process{FS: mem, Clock: clk}
	w.doctor = p.newDoctor(&w.out)
	w.lookup = func(_ context.Context, host string) ([]string, error) {
		if a, ok := w.names[host]; ok {
			return []string{a}, nil
		}
		return nil, errors.New("no such host")
	}
	w.dial = func(_ context.Context, addr string) (net.Conn, error) {
		if to, ok := w.hosts[addr]; ok {
			addr = to
		}
		return net.Dial("tcp", addr)
	}
	w.openFiles = func() int { return 100_000 }
	return w
}

// wants checks findings: each is a verdict and a part of its line or of what to do.
func (w *patients) wants(t *testing.T, err error, problems int, want ...string) {
	t.Helper()
	got := w.out.String()
	if w.failed != problems || (err != nil) != (problems > 0) {
		t.Errorf("%d problems and error %v, want %d:\n%s", w.failed, err, problems, got)
	}
	for _, s := range want {
		if !strings.Contains(got, s) {
			t.Errorf("no %q in\n%s", s, got)
		}
	}
}

// kafka starts a broker in memory on a free port of 127.0.0.1.
func kafka(t *testing.T, overrides ...string) (addr string) {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{Overrides: append([]string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=/d"}, overrides...)})
	if err != nil {
		t.Fatal(err)
	}
	b, err := server.Start(server.Options{Config: cfg, FS: vfs.NewMem(), Clock: clock.System(), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b.Addrs()["PLAINTEXT"]
}

func TestDoctorOfAHealthyBroker(t *testing.T) {
	w := newPatient(vfs.NewMem(), clock.System())
	addr := kafka(t)
	w.wants(t, w.run(t.Context(), []string{addr}, ""), 0, "ok    bootstrap address "+addr+" answers", "ok    broker 1 advertises "+addr+" answers",
		"1 broker, enough for all replication factors", "clocks of this machine and of the controller agree", "no problem found")
}

// TestDoctorFinds plants problems and wants each to be found, with what to do.
func TestDoctorFinds(t *testing.T) {
	ctx := t.Context()
	dead := func() string { // a port that nobody has
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = ln.Close()
		return ln.Addr().String()
	}()

	w := newPatient(vfs.NewMem(), clock.System())
	w.wants(t, w.run(ctx, []string{"kafka:9092"}, ""), 1, "FAIL  bootstrap address: the name kafka is not known here", "names without a dot")

	w = newPatient(vfs.NewMem(), clock.System())
	w.wants(t, w.run(ctx, []string{dead}, ""), 1, "nobody listens there (connection refused)", "see whether the broker runs")

	w = newPatient(vfs.NewMem(), clock.System())
	w.wants(t, w.run(ctx, []string{deaf(t)}, ""), 1, "it does not answer as a Kafka listener without TLS does", "whether the listener wants TLS")

	// The address that is told leads nowhere, to nobody's name, to the client itself, to another cluster.
	w = newPatient(vfs.NewMem(), clock.System())
	w.wants(t, w.run(ctx, []string{kafka(t, "advertised.listeners=PLAINTEXT://"+dead)}, ""), 1, "FAIL  broker 1 advertises "+dead+": nobody listens there", "correct advertised.listeners")

	w = newPatient(vfs.NewMem(), clock.System())
	w.wants(t, w.run(ctx, []string{kafka(t, "advertised.listeners=PLAINTEXT://3f2a91c0:9092")}, ""), 1, "broker 1 advertises: the name 3f2a91c0 is not known here", "correct advertised.listeners")

	w = newPatient(vfs.NewMem(), clock.System())
	w.names["kafka"], w.hosts["kafka:9092"] = "192.0.2.7", kafka(t, "advertised.listeners=PLAINTEXT://localhost:9092")
	w.wants(t, w.run(ctx, []string{"kafka:9092"}, ""), 1, "broker 1 advertises localhost:9092, which is every client's own machine", "kafka:9092 or another address that clients can reach")

	w = newPatient(vfs.NewMem(), clock.System())
	other := kafka(t)
	w.wants(t, w.run(ctx, []string{kafka(t, "advertised.listeners=PLAINTEXT://"+other)}, ""), 1, "belongs to another cluster", "two brokers advertise the same address")

	// Of two listeners the second advertises what nobody has; the settings come from the environment, as in a container.
	w = newPatient(vfs.NewMem(), clock.System())
	w.names["localhost"] = "127.0.0.1"
	one, two := kafka(t), kafka(t, "advertised.listeners=PLAINTEXT://"+dead)
	w.p.Env = []string{"KAFKA_LISTENERS=A://" + one + ",B://" + two, "KAFKA_ADVERTISED_LISTENERS=A://" + one + ",B://" + dead, "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=A:PLAINTEXT,B:PLAINTEXT",
		"KAFKA_NODE_ID=1", "KAFKA_PROCESS_ROLES=broker,controller", "KAFKA_INTER_BROKER_LISTENER_NAME=A", "KAFKA_LOG_DIRS=/d"}
	w.wants(t, w.run(ctx, nil, ""), 1, "ok    the environment can be started with", "ok    broker 1 advertises "+one+" answers", "FAIL  broker 1 advertises "+dead, "run doctor there")

	// More replicas than brokers.
	w = newPatient(vfs.NewMem(), clock.System())
	w.wants(t, w.run(ctx, []string{kafka(t, "offsets.topic.replication.factor=3", "min.insync.replicas=2")}, ""), 1,
		"FAIL  offsets.topic.replication.factor=3, but there is 1 broker: consumer groups cannot start", "warn  min.insync.replicas=2", "set offsets.topic.replication.factor=1")

	// A clock that is an hour ahead.
	w = newPatient(vfs.NewMem(), clock.NewManual(clock.System().Wall().Add(time.Hour)))
	w.wants(t, w.run(ctx, []string{kafka(t)}, ""), 0, "warn  the clocks of this machine and of the controller differ by -3", "NTP", "no problem found, 1 warning\n")
}

// deaf is a server that closes every connection after it was greeted.
func deaf(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() { // ends with the listener
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_ = c.Close()
		}
	}()
	return ln.Addr().String()
}

// TestDoctorTellsBrokersApart: an address that leads to another broker of the cluster.
func TestDoctorTellsBrokersApart(t *testing.T) {
	w := newPatient(vfs.NewMem(), clock.System())
	k, err := w.connect(t.Context(), kafka(t))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	w.checkIdentity(k, &kmsg.MetadataResponse{}, 2, "b:9092")
	w.wants(t, errors.New(""), 1, "FAIL  b:9092 leads to another broker than 2")
}

// lockedFS lets nobody write.
type lockedFS struct{ vfs.FS }

func (f lockedFS) WriteFile(name string, _ []byte) error {
	return &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

func TestDoctorLooksAtTheMachine(t *testing.T) {
	const base = "process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:0\nlog.dirs=/data/kafka\n"
	f := func(name, properties string, problems int, plant func(w *patients, mem vfs.FS), want ...string) {
		t.Helper()
		mem := vfs.NewMem()
		if err := errors.Join(mem.MkdirAll("/c"), mem.WriteFile("/c/p", []byte(properties)), mem.MkdirAll("/data")); err != nil {
			t.Fatal(err)
		}
		w := newPatient(mem, clock.System())
		if plant != nil {
			plant(w, mem)
		}
		t.Run(name, func(t *testing.T) { w.wants(t, w.run(t.Context(), nil, "/c/p"), problems, want...) })
	}
	write := func(mem vfs.FS, name, text string) {
		dir := name[:strings.LastIndexByte(name, '/')]
		if err := errors.Join(mem.MkdirAll(dir), mem.WriteFile(name, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	f("well", base, 0, nil, "/c/p can be started with", "data directory /data/kafka will be made by the start", "no broker runs here yet", "warn  listener PLAINTEXT advertises 127.0.0.1")
	f("settings", base+"log.retention.ms=x\n", 1, nil, "FAIL  the broker would not start: Invalid value x")
	f("unknown setting", base+"foo=1\n", 0, nil, "warn  unknown settings are ignored: foo")
	f("no file", base, 1, func(_ *patients, mem vfs.FS) { _ = mem.Remove("/c/p") }, "cannot read the configuration")
	f("file in the way", base, 1, func(_ *patients, mem vfs.FS) { write(mem, "/data/kafka", "x") }, "FAIL  data directory /data/kafka: /data/kafka is no directory")
	f("no permission", base, 1, func(w *patients, mem vfs.FS) { w.p.FS = lockedFS{mem} }, "this user may not write to /data", "chown")
	f("another node", base, 1, func(_ *patients, mem vfs.FS) {
		write(mem, "/data/kafka/meta.properties", "node.id=7\ncluster.id=abc\n")
	}, "belongs to node 7, the settings say 1")
	f("another cluster", base, 1, func(w *patients, mem vfs.FS) {
		write(mem, "/data/kafka/meta.properties", "node.id=1\ncluster.id=abc\n")
		w.p.Env = []string{"CLUSTER_ID=xyz"}
	}, "belongs to cluster abc, the environment says xyz", "old volume")
	f("open files", base, 1, func(w *patients, _ vfs.FS) { w.openFiles = func() int { return 256 } }, "FAIL  only 256 files may be open", "ulimit -n")
	f("many partitions", base, 0, func(w *patients, mem vfs.FS) {
		w.openFiles = func() int { return 5000 }
		for i := range 2000 {
			if err := mem.MkdirAll(fmt.Sprintf("/data/kafka/t-%d", i)); err != nil {
				t.Fatal(err)
			}
		}
	}, "warn  only 5000 files may be open at a time; 7000 would be comfortable for 2000 partitions")
	f("in memory", base, 0, func(_ *patients, mem vfs.FS) {
		write(mem, "/proc/self/mounts", "overlay / overlay rw 0 0\ntmpfs /data tmpfs rw 0 0\n")
	}, "is in memory (tmpfs)")
	f("container", base, 0, func(_ *patients, mem vfs.FS) { write(mem, "/proc/self/mounts", "overlay / overlay rw 0 0\n") }, "container's own layer", "mount a volume")
	f("clock", base, 1, func(w *patients, _ vfs.FS) { w.p.Clock = clock.NewManual(time.Unix(0, 0)) }, "FAIL  the clock says 1970-01-01")
	f("name", base+"advertised.listeners=PLAINTEXT://broker.example:9092\n", 1, nil, "listener PLAINTEXT advertises: the name broker.example is not known here")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	go func() { // answers nobody as a Kafka would; ends with the listener
		for {
			c, err := taken.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	f("port", strings.Replace(base, "127.0.0.1:0", taken.Addr().String(), 1), 2, nil, "FAIL  listener PLAINTEXT: another program has "+taken.Addr().String())
}

func TestDoctorSpace(t *testing.T) {
	f := func(total, usable int64, want string) {
		t.Helper()
		w := newPatient(vfs.NewMem(), clock.System())
		w.checkSpace("d", total, usable)
		if got := w.out.String(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%d of %d: %s, want %s", usable, total, got, want)
		}
	}
	f(1<<40, 1<<39, "ok    d has 512 GiB left of 1 TiB")
	f(1<<40, 6<<30, "ok")
	f(1<<40, 4<<30, "warn  d: only 4 GiB are left")
	f(1<<33, 1<<32, "ok")
	f(1<<40, 1<<20, "FAIL  d: only 1 MiB are left")
	f(-1, -1, "")
}

func TestDoctorCommandLine(t *testing.T) {
	for _, a := range []string{"kafka", "kafka:", "kafka:http", "kafka:0", "kafka:65536", "kafka:-1", "::1:9092"} {
		newWorld("doctor", a).run(t, ExitUsage, strconv.Quote(a)+" is not of the form HOST:PORT")
	}
	w := newWorld("doctor", "--config", "/nowhere")
	w.run(t, ExitError, "doctor found 1 problem")
	if !strings.Contains(w.out.String(), "FAIL  cannot read the configuration") {
		t.Errorf("got %s", w.out.String())
	}
}
