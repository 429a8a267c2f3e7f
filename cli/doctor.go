package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/vfs"
)

// doctorCommand looks for what keeps clients and brokers from working together, from both sides, and changes nothing.
func (p *Process) doctorCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "doctor [HOST:PORT]...",
		Short: "Find out why clients and brokers do not come together",
		Long: "Look at a Kafka (or kaja) as a client does: are names known, do ports answer, do the advertised addresses lead back to the same brokers, are there enough brokers " +
			"for the replication factors, is there room on their disks. With --config also at the machine that a broker is to run on: the settings, the data directories, " +
			"limits, clock. Nothing is changed. Without an address it looks at the listeners of --config, or of KAFKA_* in the environment (inside a container), or at localhost:9092.\n\n" +
			"Each line is ok, warn or FAIL with what to do. The exit code is 1 if anything failed.",
		Example: "  kaja doctor                                   # a broker on this machine, or in this container\n" +
			"  kaja doctor kafka:9092                        # from another one, or from inside a container\n" +
			"  kaja doctor --config server.properties        # before the first start",
		RunE: func(c *cobra.Command, args []string) error {
			for _, a := range args {
				_, port, err := net.SplitHostPort(a)
				if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n == 0 {
					return usageError{fmt.Errorf("%q is not of the form HOST:PORT", a)}
				}
			}
			d := p.newDoctor(c.OutOrStdout())
			return p.interruptible(func() error { return d.run(c.Context(), args, file) })
		},
	}
	c.Flags().StringVar(&file, "config", "", "look also at what this `server.properties` says, and at the machine")
	return c
}

// doctor gathers findings.
type doctor struct {
	p      *Process
	out    io.Writer
	failed int
	warned int

	lookup func(ctx context.Context, host string) ([]string, error)
	dial   func(ctx context.Context, addr string) (net.Conn, error)
	// openFiles is the limit of open files, 0 unknown.
	openFiles func() int
}

// Patience with the network.
const (
	dialTimeout    = 3 * time.Second
	requestTimeout = 5 * time.Second
)

func (p *Process) newDoctor(out io.Writer) *doctor {
	dialer := net.Dialer{Timeout: dialTimeout}
	return &doctor{p: p, out: out, lookup: net.DefaultResolver.LookupHost, openFiles: vfs.OpenFileLimit,
		dial: func(ctx context.Context, addr string) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", addr) }}
}

func (d *doctor) run(ctx context.Context, bootstrap []string, file string) error {
	var cfg *config.Static
	given := file != "" || len(bootstrap) == 0 && d.configuredByEnvironment()
	if given {
		cfg = d.checkConfig(file)
		d.checkMachine(cfg)
	}
	var running bool
	switch {
	case len(bootstrap) > 0:
		running = d.checkCluster(ctx, bootstrap, true)
	case cfg != nil:
		running = d.checkCluster(ctx, localAddrs(cfg), false)
	case !given:
		running = d.checkCluster(ctx, []string{"localhost:9092"}, true)
	}
	if cfg != nil {
		d.checkPorts(ctx, cfg, running)
	}
	switch {
	case d.failed == 1:
		return errors.New("doctor found 1 problem")
	case d.failed > 1:
		return fmt.Errorf("doctor found %d problems", d.failed)
	}
	verdict := "no problem found"
	if d.warned > 0 {
		verdict = "no problem found, " + plural(d.warned, "warning")
	}
	_, err := fmt.Fprintln(d.out, verdict)
	return err
}

// localAddrs are where a client on this machine reaches the listeners.
func localAddrs(cfg *config.Static) (out []string) {
	for _, l := range cfg.Listeners() {
		if l.Host == "" || l.Host == "0.0.0.0" || l.Host == "::" {
			l.Host = "localhost"
		}
		out = append(out, l.Addr())
	}
	return out
}

func (d *doctor) ok(format string, args ...any) { d.line("ok  ", fmt.Sprintf(format, args...), "") }

// warn and fail tell what was found and what to do.
func (d *doctor) warn(found, do string) {
	d.warned++
	d.line("warn", found, do)
}

func (d *doctor) fail(found, do string) {
	d.failed++
	d.line("FAIL", found, do)
}

func (d *doctor) line(verdict, found, do string) {
	text := verdict + "  " + oneLine(found)
	if do != "" {
		text += "\n      → " + oneLine(do)
	}
	_, _ = io.WriteString(d.out, text+"\n") // a closed pipe ends the process
}

// plural is "1 broker", "2 brokers".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// bytesText is a size for people.
func bytesText(n int64) string {
	const unit = 1024
	for _, u := range []string{"bytes", "KiB", "MiB", "GiB"} {
		if n < unit {
			return fmt.Sprintf("%d %s", n, u)
		}
		n /= unit
	}
	return fmt.Sprintf("%d TiB", n)
}
