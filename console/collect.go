package console

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Sink takes the values of one scrape. It is used on one goroutine and not kept.
type Sink struct {
	out   chan<- prometheus.Metric
	descs map[string]*desc
}

type desc struct {
	*prometheus.Desc
	kind   Kind
	labels int
}

// Set gives the value of a counter or gauge; labels are the values in the catalogue's order, those at the end may be missing.
func (s *Sink) Set(name string, value float64, labels ...string) {
	d, labels := s.find(name, labels)
	kind := prometheus.GaugeValue
	if d.kind == Counter {
		kind = prometheus.CounterValue
	}
	m, err := prometheus.NewConstMetric(d.Desc, kind, value, labels...)
	s.put(d, m, err)
}

// Summarize gives the value of a summary: how many there were, their sum, and quantiles.
func (s *Sink) Summarize(name string, count int64, sum float64, quantiles map[float64]float64, labels ...string) {
	d, labels := s.find(name, labels)
	m, err := prometheus.NewConstSummary(d.Desc, uint64(count), sum, quantiles, labels...)
	s.put(d, m, err)
}

// find completes the labels; a name that is not in the catalogue spoils the scrape, with its name (I2).
func (s *Sink) find(name string, labels []string) (*desc, []string) {
	d := s.descs[name]
	if d == nil {
		d = &desc{Desc: prometheus.NewInvalidDesc(fmt.Errorf("metric %s is not in the catalogue", name))}
	}
	for len(labels) < d.labels {
		labels = append(labels, "")
	}
	return d, labels
}

func (s *Sink) put(d *desc, m prometheus.Metric, err error) {
	if err != nil {
		m = prometheus.NewInvalidMetric(d.Desc, err)
	}
	s.out <- m
}

// collector reads everything anew for each scrape.
type collector struct {
	descs   map[string]*desc
	collect func(*Sink)
}

func newCollector(collect func(*Sink)) *collector {
	c := &collector{descs: map[string]*desc{}, collect: collect}
	for _, m := range catalog {
		c.descs[m.Name] = &desc{prometheus.NewDesc(m.Name, m.Help, m.Labels, nil), m.Kind, len(m.Labels)}
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d.Desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	c.collect(&Sink{out: out, descs: c.descs})
}

// newRegistry joins kaja's metrics with those of the process and of Go's runtime.
func newRegistry(collect func(*Sink)) (*prometheus.Registry, error) {
	r := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{newCollector(collect), collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return r, nil
}
