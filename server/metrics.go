package server

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/console"
	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
	"github.com/kaja-mq/kaja/internal/metric"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/protocol"
	"github.com/kaja-mq/kaja/replica"
)

// monitor is what the console shows of a broker: counters of the hot path, and what is read when somebody looks. A broker without a console
// has none.
type monitor struct {
	b       *Broker
	console *console.Server
	timings *timings
	traffic *metric.Traffic
	fetches window       // of all fetches together; guarded by timings.mu
	state   atomic.Int32 // brokerStarting …
	failure atomic.Pointer[error]
	// Changes of ISRs, seen in the images.
	isrShrinks, isrExpands atomic.Int64
}

// States of a broker, as Kafka's BrokerState numbers them.
const (
	brokerStarting int32 = 1
	brokerRunning  int32 = 3
	brokerStopping int32 = 6
)

// startMonitor opens the console, when one is configured, before anything that may take long: whoever waits for readiness is told why.
func (b *Broker) startMonitor() error {
	addr, on := b.o.Config.Console()
	if !on {
		return nil
	}
	m := &monitor{b: b, timings: newTimings(b.o.Clock), traffic: metric.NewTraffic()}
	m.state.Store(brokerStarting)
	log := b.component("console")
	var err error
	if m.console, err = console.Start(console.Options{Addr: addr, Log: log, Collect: m.collect, Health: m.health, Ready: m.ready}); err != nil {
		return err
	}
	log.Info().Str("address", m.console.Addr()).Msg("console is open")
	b.monitor = m
	return nil
}

// ConsoleAddr is where the console listens, "" when there is none.
func (b *Broker) ConsoleAddr() string {
	if b.monitor == nil {
		return ""
	}
	return b.monitor.console.Addr()
}

// The methods below do nothing on nil.

func (m *monitor) enter(state int32) {
	if m != nil {
		m.state.Store(state)
	}
}

func (m *monitor) failed(err error) {
	if m != nil {
		m.failure.CompareAndSwap(nil, &err)
	}
}

func (m *monitor) close() error {
	if m == nil {
		return nil
	}
	return m.console.Close()
}

func (m *monitor) measures() *timings {
	if m == nil {
		return nil
	}
	return m.timings
}

func (m *monitor) counts() *metric.Traffic {
	if m == nil {
		return nil
	}
	return m.traffic
}

// published counts changes of ISRs.
func (m *monitor) published(d *metadata.Delta) {
	if m == nil {
		return
	}
	for _, t := range d.Topics {
		if t.Old == nil || t.New == nil {
			continue
		}
		for _, id := range t.Partitions {
			was, is := t.Old.Partition(id), t.New.Partition(id)
			if was == nil || is == nil {
				continue
			}
			switch n := len(is.ISR) - len(was.ISR); {
			case n < 0:
				m.isrShrinks.Add(1)
			case n > 0:
				m.isrExpands.Add(1)
			}
		}
	}
}

func (m *monitor) health() error {
	if err := m.failure.Load(); err != nil {
		return *err
	}
	return nil
}

func (m *monitor) ready() error {
	if err := m.health(); err != nil {
		return err
	}
	switch m.state.Load() {
	case brokerStarting:
		return errors.New("starting: logs are being opened or recovered")
	case brokerStopping:
		return errors.New("stopping")
	}
	return nil
}

// collect reads everything for one scrape. Before the broker runs there is nothing to read but its state.
func (m *monitor) collect(s *console.Sink) {
	state := m.state.Load()
	s.Set("kafka_server_kafkaserver_brokerstate", float64(state))
	if state != brokerRunning {
		return
	}
	img := m.b.Image()
	m.collectTraffic(s, img)
	m.collectRequests(s)
	m.collectReplicas(s, img)
	collectTopics(s, img)
	m.collectQuorum(s, img)
	m.collectLogs(s)
	m.collectGroups(s)
}

func (m *monitor) collectTraffic(s *console.Sink, img *metadata.Image) {
	sum, topics := m.traffic.Load(func(name string) bool { return img.Topic(name) != nil })
	emit := func(topic string, c metric.Counts) {
		const p = "kafka_server_brokertopicmetrics_"
		s.Set(p+"messagesin_total", float64(c.MessagesIn), topic)
		s.Set(p+"bytesin_total", float64(c.BytesIn), topic)
		s.Set(p+"bytesout_total", float64(c.BytesOut), topic)
		s.Set(p+"replicationbytesin_total", float64(c.ReplicationBytesIn), topic)
		s.Set(p+"replicationbytesout_total", float64(c.ReplicationBytesOut), topic)
		s.Set(p+"totalproducerequests_total", float64(c.Produces), topic)
		s.Set(p+"totalfetchrequests_total", float64(c.Fetches), topic)
		s.Set(p+"failedproducerequests_total", float64(c.FailedProduces), topic)
		s.Set(p+"failedfetchrequests_total", float64(c.FailedFetches), topic)
	}
	emit("", sum)
	for topic, c := range topics {
		emit(topic, c)
	}
}

// quantiles are those that Kafka's metrics have.
var quantiles = [...]float64{.5, .75, .95, .98, .99, .999}

func (m *monitor) collectRequests(s *console.Sink) {
	t, n := m.timings, m.b.net
	idle := t.idle(m.b.engine.loops)
	s.Set("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", idle)
	s.Set("kafka_network_socketserver_networkprocessoravgidle_percent", idle)
	s.Set("kafka_server_socket_server_metrics_connection_creation_total", float64(n.nextID.Load()))
	open := map[string]int{}
	for _, l := range m.b.listening {
		open[l.name] = 0
	}
	n.each(func(c *conn) { open[c.listener]++ })
	for listener, count := range open {
		s.Set("kafka_server_socket_server_metrics_connection_count", float64(count), listener)
	}
	for _, api := range protocol.APIs() {
		a := t.apis[api.Key].Load()
		if api.Key == fetchKey {
			m.collectFetches(s, a)
		} else if a != nil {
			m.collectAPI(s, api.Name, &a.window, a)
		}
	}
}

// collectFetches shows fetches as Kafka does: all, those of consumers, those of followers.
func (m *monitor) collectFetches(s *console.Sink, consumers *apiTimings) {
	followers := &m.timings.followers
	if consumers == nil {
		consumers = m.timings.api(fetchKey)
	}
	m.collectAPI(s, "Fetch", &m.fetches, consumers, followers)
	m.collectAPI(s, "FetchConsumer", &consumers.window, consumers)
	m.collectAPI(s, "FetchFollower", &followers.window, followers)
}

// collectAPI shows what several counters of an API give together.
func (m *monitor) collectAPI(s *console.Sink, name string, w *window, parts ...*apiTimings) {
	var d [3]metric.Distribution
	var byVersion [maxVersion + 1]int64
	for _, a := range parts {
		d[0], d[1], d[2] = d[0].Plus(a.total.Load()), d[1].Plus(a.local.Load()), d[2].Plus(a.remote.Load())
		for v := range a.byVersion {
			byVersion[v] += a.byVersion[v].Load()
		}
	}
	for v, n := range byVersion {
		if n > 0 {
			s.Set("kafka_network_requestmetrics_requests_total", float64(n), name, strconv.Itoa(v))
		}
	}
	t := m.timings
	t.mu.Lock()
	recent := w.recent(t.clock.Mono(), d)
	t.mu.Unlock()
	for i, part := range [...]string{"totaltimems", "localtimems", "remotetimems"} {
		q := map[float64]float64{}
		for _, x := range quantiles {
			q[x] = math.NaN() // as Prometheus has it where nothing was observed
			if v, ok := recent[i].Quantile(x); ok {
				q[x] = milliseconds(v)
			}
		}
		s.Summarize("kafka_network_requestmetrics_"+part, d[i].Count, milliseconds(d[i].Sum), q, name)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (m *monitor) collectReplicas(s *console.Sink, img *metadata.Image) {
	var all, led, offline, underReplicated, underMin, atMin int
	m.b.replicas.Partitions(func(p *replica.Partition) bool {
		all++
		switch p.Role() {
		case replica.RoleOffline:
			offline++
		case replica.RoleLeader:
			led++
			if c, ok := p.Config(); ok {
				under, below, at := inSync(img, p, int(c.MinInsyncReplicas))
				underReplicated += under
				underMin += below
				atMin += at
			}
		}
		return true
	})
	const p = "kafka_server_replicamanager_"
	s.Set(p+"partitioncount", float64(all))
	s.Set(p+"leadercount", float64(led))
	s.Set(p+"offlinereplicacount", float64(offline))
	s.Set(p+"underreplicatedpartitions", float64(underReplicated))
	s.Set(p+"underminisrpartitioncount", float64(underMin))
	s.Set(p+"atminisrpartitioncount", float64(atMin))
	s.Set(p+"isrshrinks_total", float64(m.isrShrinks.Load()))
	s.Set(p+"isrexpands_total", float64(m.isrExpands.Load()))
}

// inSync judges a partition's ISR: 1 for what holds.
func inSync(img *metadata.Image, p *replica.Partition, minISR int) (underReplicated, underMin, atMin int) {
	t := img.TopicByID(p.TopicID())
	if t == nil || t.Partition(p.Index()) == nil {
		return 0, 0, 0
	}
	mp := t.Partition(p.Index())
	minISR = min(minISR, len(mp.Replicas)) // as in Kafka 4.4 one replica is enough where there is one
	one := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return one(len(mp.ISR) < len(mp.Replicas)), one(len(mp.ISR) < minISR), one(len(mp.ISR) == minISR)
}

func collectTopics(s *console.Sink, img *metadata.Image) {
	alive := 0
	for b := range img.Brokers() {
		if !b.Fenced {
			alive++
		}
	}
	var offline, imbalanced int
	for t := range img.Topics() {
		s.Set("kafka_topic_partitions", float64(len(t.Partitions)), t.Name)
		for i := range t.Partitions {
			p := &t.Partitions[i]
			if !p.Exists() {
				continue
			}
			id := strconv.Itoa(i)
			preferred := len(p.Replicas) > 0 && p.Replicas[0] == p.Leader
			s.Set("kafka_topic_partition_leader", float64(p.Leader), t.Name, id)
			s.Set("kafka_topic_partition_leader_is_preferred", truth(preferred), t.Name, id)
			s.Set("kafka_topic_partition_replicas", float64(len(p.Replicas)), t.Name, id)
			s.Set("kafka_topic_partition_in_sync_replica", float64(len(p.ISR)), t.Name, id)
			s.Set("kafka_topic_partition_under_replicated_partition", truth(len(p.ISR) < len(p.Replicas)), t.Name, id)
			if p.Leader < 0 {
				offline++
			}
			if !preferred {
				imbalanced++
			}
		}
	}
	const c = "kafka_controller_kafkacontroller_"
	s.Set("kafka_brokers", float64(alive))
	s.Set(c+"activebrokercount", float64(alive))
	s.Set(c+"fencedbrokercount", float64(img.BrokerCount()-alive))
	s.Set(c+"globaltopiccount", float64(img.TopicCount()))
	s.Set(c+"globalpartitioncount", float64(img.PartitionCount()))
	s.Set(c+"offlinepartitionscount", float64(offline))
	s.Set(c+"preferredreplicaimbalancecount", float64(imbalanced))
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// quorumPatience is how long a scrape waits for the controller, which answers at once unless it is stuck.
const quorumPatience = 2 * time.Second

func (m *monitor) collectQuorum(s *console.Sink, img *metadata.Image) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Version = 2
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = metadataTopic
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	answers := make(chan *kmsg.DescribeQuorumResponse, 1)
	m.b.control.DescribeQuorum(req, func(r *kmsg.DescribeQuorumResponse) { answers <- r })
	late := make(chan struct{})
	timer := m.b.o.Clock.AfterFunc(quorumPatience, func() { close(late) })
	defer timer.Stop()
	var leader int32 = -1
	select {
	case r := <-answers:
		if len(r.Topics) > 0 && len(r.Topics[0].Partitions) > 0 {
			p := &r.Topics[0].Partitions[0]
			leader = p.LeaderID
			s.Set("kafka_server_raft_metrics_current_epoch", float64(p.LeaderEpoch))
			s.Set("kafka_server_raft_metrics_high_watermark", float64(p.HighWatermark))
		}
	case <-late:
	}
	s.Set("kafka_server_raft_metrics_current_leader", float64(leader))
	s.Set("kafka_controller_kafkacontroller_activecontrollercount", truth(leader == m.b.NodeID()))
}

func (m *monitor) collectLogs(s *console.Sink) {
	for _, l := range m.b.store.Logs() {
		k := l.Key()
		id := strconv.Itoa(int(k.Partition))
		s.Set("kafka_log_log_size", float64(l.Size()), k.Topic, id)
		s.Set("kafka_log_log_logstartoffset", float64(l.LogStartOffset()), k.Topic, id)
		s.Set("kafka_log_log_logendoffset", float64(l.LogEndOffset()), k.Topic, id)
		s.Set("kafka_log_log_numlogsegments", float64(l.SegmentCount()), k.Topic, id)
	}
	offline := 0
	for _, d := range m.b.store.Dirs() {
		if !d.Online {
			offline++
		}
	}
	s.Set("kafka_log_logmanager_offlinelogdirectorycount", float64(offline))
	m.b.replicas.Partitions(func(p *replica.Partition) bool {
		id := strconv.Itoa(int(p.Index()))
		if p.Role() == replica.RoleLeader {
			s.Set("kafka_topic_partition_current_offset", float64(p.HighWatermark()), p.Topic(), id)
			s.Set("kafka_topic_partition_oldest_offset", float64(p.LogStartOffset()), p.Topic(), id)
		}
		return true
	})
}

func (m *monitor) collectGroups(s *console.Sink) {
	groups, offsets := 0, 0
	states := map[[2]string]int{}
	rt := m.b.coord.groups
	for _, p := range rt.Partitions() {
		var reports []group.Report
		_ = rt.Submit(p, func(sh *group.Shard, _ coordinator.Now) coordinator.Effects { // loading or lost: nothing to show
			reports = sh.Reports()
			return coordinator.Effects{Clean: true}
		})
		for i := range reports {
			r := &reports[i]
			groups++
			offsets += len(r.Offsets)
			states[[2]string{r.Type, r.State}]++
			m.collectGroup(s, r)
		}
	}
	const g = "kafka_coordinator_group_groupmetadatamanager_"
	s.Set(g+"numgroups", float64(groups))
	s.Set(g+"numoffsets", float64(offsets))
	sum := func(state string) (n float64) {
		for k, count := range states {
			if k[1] == state {
				n += float64(count)
			}
		}
		return n
	}
	s.Set(g+"numgroupspreparingrebalance", sum("PreparingRebalance"))
	s.Set(g+"numgroupscompletingrebalance", sum("CompletingRebalance"))
	s.Set(g+"numgroupsstable", sum("Stable"))
	s.Set(g+"numgroupsempty", sum("Empty"))
	for k, n := range states {
		s.Set("kafka_server_group_coordinator_metrics_group_count", float64(n), strings.ToLower(k[0]), strings.ToLower(k[1]))
	}
}

func (m *monitor) collectGroup(s *console.Sink, r *group.Report) {
	s.Set("kafka_consumergroup_members", float64(r.Members), r.ID)
	img := m.b.Image()
	offsets, lags := map[string]int64{}, map[string]int64{}
	for _, o := range r.Offsets {
		t := img.Topic(o.Topic)
		if t == nil {
			continue
		}
		p := m.b.replicas.Partition(t.ID, o.Partition)
		if p == nil || p.Role() != replica.RoleLeader {
			continue
		}
		lag := max(p.HighWatermark()-o.Offset, 0)
		id := strconv.Itoa(int(o.Partition))
		s.Set("kafka_consumergroup_current_offset", float64(o.Offset), r.ID, o.Topic, id)
		s.Set("kafka_consumergroup_lag", float64(lag), r.ID, o.Topic, id)
		offsets[o.Topic] += o.Offset
		lags[o.Topic] += lag
	}
	for topic := range offsets {
		s.Set("kafka_consumergroup_current_offset_sum", float64(offsets[topic]), r.ID, topic)
		s.Set("kafka_consumergroup_lag_sum", float64(lags[topic]), r.ID, topic)
	}
}
