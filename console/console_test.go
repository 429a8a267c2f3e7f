package console

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/rs/zerolog"
)

func get(t *testing.T, s *Server, path string) (int, string) {
	t.Helper()
	resp, err := http.Get("http://" + s.Addr() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	o.Addr, o.Log = "127.0.0.1:0", zerolog.Nop()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

func TestMetrics(t *testing.T) {
	s := start(t, Options{Collect: func(s *Sink) {
		s.Set("kafka_server_brokertopicmetrics_messagesin_total", 7)
		s.Set("kafka_server_brokertopicmetrics_messagesin_total", 5, "a")
		s.Set("kafka_log_log_size", 1e9, "a", "0")
		s.Summarize("kafka_network_requestmetrics_totaltimems", 3, 1.5, map[float64]float64{.5: .4}, "Produce")
	}})
	code, text := get(t, s, "/metrics")
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	for _, want := range []string{"# TYPE kafka_server_brokertopicmetrics_messagesin_total counter", `kafka_server_brokertopicmetrics_messagesin_total{topic=""} 7`,
		`kafka_server_brokertopicmetrics_messagesin_total{topic="a"} 5`, `kafka_log_log_size{partition="0",topic="a"} 1e+09`,
		`kafka_network_requestmetrics_totaltimems{request="Produce",quantile="0.5"} 0.4`, `kafka_network_requestmetrics_totaltimems_count{request="Produce"} 3`,
		"process_resident_memory_bytes ", "go_goroutines ", "go_build_info{"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestUnknownMetric: what is not in the catalogue cannot be shown.
func TestUnknownMetric(t *testing.T) {
	s := start(t, Options{Collect: func(s *Sink) { s.Set("kafka_no_such_thing", 1) }})
	if code, text := get(t, s, "/metrics"); code != http.StatusInternalServerError || !strings.Contains(text, "kafka_no_such_thing is not in the catalogue") {
		t.Errorf("%d %s", code, text)
	}
}

func TestProbes(t *testing.T) {
	var ill, busy atomic.Bool
	check := func(b *atomic.Bool, why string) func() error {
		return func() error {
			if b.Load() {
				return errors.New(why)
			}
			return nil
		}
	}
	s := start(t, Options{Collect: func(*Sink) {}, Health: check(&ill, "the disk is gone"), Ready: check(&busy, "starting")})
	f := func(path string, wantCode int, want string) {
		t.Helper()
		if code, text := get(t, s, path); code != wantCode || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %d %s", path, code, text, wantCode, want)
		}
	}
	f("/health", 200, `{"status":"ok"}`)
	f("/ready", 200, `{"status":"ready"}`)
	ill.Store(true)
	busy.Store(true)
	f("/health", 503, `{"reason":"the disk is gone","status":"not ok"}`)
	f("/ready", 503, "starting")
	f("/", 200, "/metrics")
	f("/nowhere", 404, "")
	resp, err := http.Post("http://"+s.Addr()+"/ready", "text/plain", nil)
	if err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %v %v", resp, err)
	}
	resp.Body.Close()
}

func TestPortInUse(t *testing.T) {
	s := start(t, Options{Collect: func(*Sink) {}})
	if _, err := Start(Options{Addr: s.Addr(), Log: zerolog.Nop(), Collect: func(*Sink) {}}); err == nil || !strings.Contains(err.Error(), "set another port in kaja.console.listener") {
		t.Errorf("got %v", err)
	}
}

// TestCatalog: names are well formed, each once, with a meaning; counters end in _total, as Prometheus wants it.
func TestCatalog(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Catalog() {
		if seen[m.Name] || m.Help == "" || !regexp.MustCompile(`^kafka(_[a-z]+)+$`).MatchString(m.Name) {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
		if strings.HasSuffix(m.Name, "_total") != (m.Kind == Counter) {
			t.Errorf("%s is a %s", m.Name, m.Kind)
		}
	}
}

// TestDashboard: the dashboard is well formed, and every metric that its queries name is shown by a broker.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("../docs/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Type, Title string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Collect: func(*Sink) {}})
	_, text := get(t, s, "/metrics")
	known := map[string]bool{}
	for _, m := range Catalog() {
		known[m.Name] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(text, -1) {
		known[m[1]] = true
	}
	names := regexp.MustCompile(`\b(?:kafka|go|process)_[a-z0-9_]+`)
	queries := 0
	for _, p := range d.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %s asks nothing", p.Title)
		}
		for _, q := range p.Targets {
			queries++
			found := names.FindAllString(q.Expr, -1)
			if len(found) == 0 {
				t.Errorf("panel %s: no metric in %s", p.Title, q.Expr)
			}
			for _, n := range found {
				if !known[n] {
					t.Errorf("panel %s names %s, which no broker shows", p.Title, n)
				}
			}
		}
	}
	if queries < 30 {
		t.Errorf("only %d queries", queries)
	}
	for _, n := range names.FindAllString(string(data), -1) { // variables too
		if !known[n] {
			t.Errorf("the dashboard names %s", n)
		}
	}
}

// TestLint: Prometheus' own rules for names hold, but where Kafka's exporter breaks them.
func TestLint(t *testing.T) {
	s := start(t, Options{Collect: func(s *Sink) {
		for _, m := range Catalog() {
			if m.Kind == Summary {
				s.Summarize(m.Name, 1, 1, map[float64]float64{.5: 1}, m.Labels...)
			} else {
				s.Set(m.Name, 1, m.Labels...)
			}
		}
	}})
	_, text := get(t, s, "/metrics")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		switch p.Metric {
		case "kafka_server_socket_server_metrics_connection_count", "kafka_server_group_coordinator_metrics_group_count",
			"kafka_consumergroup_current_offset_sum", "kafka_consumergroup_lag_sum": // gauges that others call a count or a sum
		default:
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// TestConnections: more than the limit are turned away, and places come free again.
func TestConnections(t *testing.T) {
	s := start(t, Options{Collect: func(*Sink) {}, Health: func() error { return nil }})
	var open []net.Conn
	for range maxConnections {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
	}
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil { // ends when the server closes, long before its time for headers
		t.Errorf("one too many read %d, %v", n, err)
	}
	if _, err := io.WriteString(open[0], "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(open[0]); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 200 OK") {
		t.Errorf("the first got %q, %v", text, err)
	}
	for { // its place comes free a moment after its end
		resp, err := http.Get("http://" + s.Addr() + "/health")
		if err == nil {
			_ = resp.Body.Close()
			break
		}
	}
}

// TestGarbage: what is no request for a page is told so.
func TestGarbage(t *testing.T) {
	s := start(t, Options{Collect: func(*Sink) {}})
	f := func(request, want string) {
		t.Helper()
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
			t.Errorf("%.40q: got %q, %v, want %q", request, got, err, want)
		}
	}
	f("\x16\x03\x01\x02\x00\x01\n\n", "HTTP/1.1 400 Bad Request")
	f("GET\r\n\r\n", "HTTP/1.1 400 Bad Request")
	f("GET / HTTP/9.9\r\n\r\n", "HTTP/1.1 505 ")
	f("GET /"+strings.Repeat("a", 2*maxHeaderBytes)+" HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 431 ")
	f("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 405 ")
	f("GET /ready/x HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 ")
}

// TestListenErrors: one line says what to change.
func TestListenErrors(t *testing.T) {
	f := func(addr, want string) {
		t.Helper()
		s, err := Start(Options{Addr: addr, Log: zerolog.Nop(), Collect: func(*Sink) {}})
		if err == nil {
			_ = s.Close()
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", addr, err, want)
		}
	}
	s := start(t, Options{Collect: func(*Sink) {}})
	f(s.Addr(), "console: "+s.Addr()+" is in use by another process; stop it or set another port in kaja.console.listener")
	f("192.0.2.1:9644", "console: this machine has no address 192.0.2.1:9644; correct kaja.console.listener (0.0.0.0 is every address)")
	f("no.such.name.invalid:9644", "console: the name no.such.name.invalid is not known; correct kaja.console.listener")
}

// TestDocument: docs/metrics.md lists the catalogue.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range Catalog() {
		row := "| `" + m.Name + "` | " + m.Kind.String() + " | " + strings.Join(m.Labels, ", ") + " | " + m.Help + " |\n"
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/metrics.md lacks %s", row)
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `kafka_[a-z_]+` \\| (counter|gauge|summary) ").FindAllString(string(text), -1)
	if len(rows) != len(Catalog()) {
		t.Errorf("docs/metrics.md lists %d metrics, there are %d", len(rows), len(Catalog()))
	}
}
