package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/controller"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/security"
	"github.com/kaja-mq/kaja/storage"
)

// storageOptions joins the configuration to storage. Topic settings come from the newest image: none is known while the logs are
// opened; publish tells of them afterwards.
func (b *Broker) storageOptions() storage.Options {
	cfg := b.o.Config
	ms := func(name string) time.Duration {
		v := cfg.Int(name)
		if v > int64(time.Duration(1<<62)/time.Millisecond) {
			return 0 // Long.MAX_VALUE is never
		}
		return time.Duration(v) * time.Millisecond
	}
	return storage.Options{
		FS:                      b.o.FS,
		Clock:                   b.o.Clock,
		Log:                     b.component("storage"),
		Dirs:                    cfg.LogDirs(),
		MetadataDir:             cfg.MetadataLogDir(),
		NodeID:                  cfg.NodeID(),
		ClusterID:               b.o.ClusterID,
		BrokerEpoch:             b.brokerEpoch,
		RecoveryThreads:         int(cfg.Int("num.recovery.threads.per.data.dir")),
		Defaults:                func() storage.LogConfig { return storage.LogConfig(config.TopicConfig(b.settings.Load(), nil)) },
		ConfigOf:                func(topic string, _ storage.TopicID) storage.LogConfig { return b.topicConfig(topic) },
		OnDirFailure:            b.dirFailed,
		OnMoved:                 b.logMoved,
		CheckpointInterval:      ms("log.flush.offset.checkpoint.interval.ms"),
		StartCheckpointInterval: ms("log.flush.start.offset.checkpoint.interval.ms"),
		HWCheckpointInterval:    ms("replica.high.watermark.checkpoint.interval.ms"),
		RetentionCheckInterval:  ms("log.retention.check.interval.ms"),
		FlushCheckInterval:      ms("log.flush.scheduler.interval.ms"),
		InitialTaskDelay:        max(ms("log.initial.task.delay.ms"), 1), // 0 would be the default
		ProducerCheckInterval:   ms("producer.id.expiration.check.interval.ms"),
		Cleaner:                 b.cleanerConfig,
	}
}

// cleanerConfig is log.cleaner.* as it is now.
func (b *Broker) cleanerConfig() storage.CleanerConfig {
	s := b.settings.Load()
	c := storage.CleanerConfig{
		Threads:             int(s.Int("log.cleaner.threads")),
		DedupeBufferBytes:   s.Int("log.cleaner.dedupe.buffer.size"),
		LoadFactor:          s.Float("log.cleaner.io.buffer.load.factor"),
		IOBufferBytes:       s.Int("log.cleaner.io.buffer.size"),
		MaxIOBytesPerSecond: s.Float("log.cleaner.io.max.bytes.per.second"),
		Backoff:             time.Duration(s.Int("log.cleaner.backoff.ms")) * time.Millisecond,
	}
	if !s.Bool("log.cleaner.enable") {
		c.Threads = 0
	}
	return c
}

func (b *Broker) topicConfig(topic string) storage.LogConfig {
	return storage.LogConfig(config.TopicConfig(b.settings.Load(), b.newest.Load().Config(metadata.ResourceTopic, topic)))
}

func (b *Broker) brokerEpoch() int64 {
	if r := b.newest.Load().Broker(b.NodeID()); r != nil {
		return r.Epoch
	}
	return -1
}

// dirFailed takes the partitions of a log directory offline and tells the controller. The last directory, or the one with the metadata log,
// ends the broker. A directory that fails while the broker starts is missing from its registration.
func (b *Broker) dirFailed(dir string, err error) {
	if dir == b.o.Config.MetadataLogDir() {
		b.failed(fmt.Errorf("log directory %s, which holds the metadata log, failed: %w", dir, err))
		return
	}
	if b.replicas == nil {
		return // being opened: an error if none is left
	}
	b.replicas.DirFailed(dir)
	left := false
	for _, d := range b.store.Dirs() {
		left = left || d.Online
	}
	if !left {
		b.failed(fmt.Errorf("log directory %s failed and no other is left: %w", dir, err))
		return
	}
	b.reportOffline()
}

func (b *Broker) startController() error {
	cfg := b.o.Config
	log, err := openMetadataLog(metadataLogOptions{
		FS:     b.o.FS,
		Clock:  b.o.Clock,
		Log:    b.component("metadata-log"),
		Dir:    cfg.MetadataLogDir(),
		Config: metadataLogConfig(int32(cfg.Int("metadata.log.segment.bytes")), cfg.Int("metadata.log.segment.ms")),
	})
	if err != nil {
		return err
	}
	var voters []int32
	for _, v := range cfg.Voters() {
		voters = append(voters, v.ID)
	}
	b.control, err = controller.Start(controller.Options{
		NodeID:         cfg.NodeID(),
		ClusterID:      b.store.ClusterID(),
		Log:            log,
		Clock:          b.o.Clock,
		Logger:         b.component("controller"),
		Voters:         voters,
		VoterEndpoints: b.controllerEndpoints(),
		Broker:         b.registration(),
		Advertise:      b.advertise,
		CleanStart:     b.cleanStart,
		Static:         cfg,
		ScramKeys:      security.ScramKeys,
		ResolveHost:    resolves,
		SetLogLevel:    b.setLogLevel,
		Random:         random64,
		Publish:        b.publish,
		Failed: func(err error) {
			b.failed(fmt.Errorf("log directory %s, which holds the metadata log, failed: %w", cfg.MetadataLogDir(), err))
		},
		MaxBytesBetweenSnapshots: cfg.Int("metadata.log.max.record.bytes.between.snapshots"),
		SnapshotInterval:         neverIfZero(cfg.Int("metadata.log.max.snapshot.interval.ms")),
		MaxRetentionBytes:        cfg.Int("metadata.max.retention.bytes"),
		MaxRetention:             time.Duration(cfg.Int("metadata.max.retention.ms")) * time.Millisecond,
	})
	return err
}

// neverIfZero: 0 ms switches snapshots by time off, which Options says by a negative interval.
func neverIfZero(ms int64) time.Duration {
	if ms == 0 {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}

// registration is what this broker tells the controller of itself: its advertised listeners with the ports that were bound.
func (b *Broker) registration() controller.Registration {
	r := controller.Registration{Incarnation: random16(), Rack: b.o.Config.Str("broker.rack")}
	r.Endpoints = b.advertise(b.o.Config.Advertised())
	for _, dir := range b.o.Config.LogDirs() {
		if id, ok := b.store.DirIDs()[dir]; ok {
			r.LogDirs = append(r.LogDirs, id)
		}
	}
	return r
}

// advertise completes advertised listeners by the machine's name and the ports that were bound.
func (b *Broker) advertise(list []config.Listener) (out []controller.Endpoint) {
	for _, a := range list {
		for _, l := range b.listening {
			if a.Port == 0 && l.name == a.Name {
				a.Port = l.addr().Port
			}
		}
		out = append(out, b.endpoint(a))
	}
	return out
}

func (b *Broker) controllerEndpoints() (out []controller.Endpoint) {
	for _, l := range b.o.Config.ControllerListeners() {
		out = append(out, b.endpoint(l))
	}
	return out
}

// endpoint is a listener as others see it. A host that was left out is the machine's name, as in Kafka.
func (b *Broker) endpoint(l config.Listener) controller.Endpoint {
	if l.Host == "" {
		l.Host = b.hostname()
	}
	return controller.Endpoint{Name: l.Name, Host: l.Host, Port: uint16(l.Port), SecurityProtocol: securityProtocols[l.Protocol]}
}

// securityProtocols are the numbers of org.apache.kafka.common.security.auth.SecurityProtocol.
var securityProtocols = map[string]int16{"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}

func canonicalHost() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	if addrs, err := net.LookupHost(name); err != nil || len(addrs) == 0 {
		return "localhost" // a name that nobody resolves helps no client
	}
	return name
}

// resolves tells whether a host name has an address.
func resolves(host string) bool {
	addrs, err := net.DefaultResolver.LookupHost(context.Background(), host)
	return err == nil && len(addrs) > 0
}

// setLogLevel changes a logger of this process; the controller has judged the change.
func (b *Broker) setLogLevel(l controller.LogLevel) {
	op := config.OpSet
	if l.Level == "" {
		op = config.OpDelete
	}
	if err := b.o.Config.Loggers().Alter(op, l.Logger, l.Level); err != nil {
		b.o.Log.Warn().Err(err).Msg("log level stays")
	}
}

func random64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// publish makes the broker what a new image says, then lets clients see it. It runs on the controller's goroutine, one image after the other.
func (b *Broker) publish(img *metadata.Image, d *metadata.Delta) {
	first := b.images.Load() == nil
	b.newest.Store(img)
	b.coord.changed(d)
	b.applyConfigs(img, d, first)
	if first {
		b.replicas.ApplyImage(img)
		b.reconcile(img)
	} else {
		b.replicas.ApplyDelta(img, d)
		b.assignDirs(img, d)
	}
	b.images.Store(img)
	b.monitor.published(d)
	b.coord.deleted(d)
}

// applyConfigs gives changed dynamic settings to those who hold a copy; all others ask the resolver each time.
func (b *Broker) applyConfigs(img *metadata.Image, d *metadata.Delta, first bool) {
	id := strconv.Itoa(int(b.NodeID()))
	var broker bool
	var topics []string
	for r := range d.Configs {
		switch r.Type {
		case metadata.ResourceBroker:
			broker = broker || r.Name == "" || r.Name == id
		case metadata.ResourceTopic:
			topics = append(topics, r.Name)
		}
	}
	if broker {
		s := config.Broker(b.o.Config, img.Config(metadata.ResourceBroker, ""), img.Config(metadata.ResourceBroker, id))
		b.settings.Store(s)
		b.net.limits.set(limitsOf(s))
		b.store.ReloadConfigs() // defaults of topics come from the broker's settings
		b.store.CleanerChanged()
		b.store.SetRecoveryThreads(int(s.Int("num.recovery.threads.per.data.dir")))
		return
	}
	for _, t := range topics {
		if first || img.Topic(t) != nil {
			b.store.ConfigChanged(t, b.topicConfig(t))
		}
	}
}

// reconcile sets logs aside that the metadata does not know.
func (b *Broker) reconcile(img *metadata.Image) {
	err := b.store.Reconcile(func(_ string, id storage.TopicID, partition int32) bool {
		t := img.TopicByID(id)
		return t != nil && t.Partition(partition) != nil
	})
	if err != nil {
		b.o.Log.Error().Err(err).Msg("setting unknown logs aside failed")
	}
}

// limitsOf reads the connection limits, all of which are dynamic.
func limitsOf(s *config.Resolver) LimitConfig {
	c := LimitConfig{
		MaxConnections: int(s.Int("max.connections")),
		MaxPerIP:       int(s.Int("max.connections.per.ip")),
		PerIPOverrides: map[string]int{},
		CreationRate:   float64(s.Int("max.connection.creation.rate")),

		MaxPerListener:      map[string]int{},
		CreationPerListener: map[string]float64{},
	}
	listeners := s.Static().Listeners()
	for _, l := range listeners {
		c.MaxPerListener[l.Name] = int(s.ListenerInt(l.Name, "max.connections"))
		c.CreationPerListener[l.Name] = float64(s.ListenerInt(l.Name, "max.connection.creation.rate"))
	}
	if len(listeners) > 1 {
		c.Protected = s.Static().InterBrokerListener()
	}
	for _, o := range strings.Split(s.Str("max.connections.per.ip.overrides"), ",") {
		host, n, ok := cutLast(strings.TrimSpace(o), ':')
		limit, err := strconv.Atoi(n)
		if !ok || err != nil {
			continue // validated when it was set
		}
		addrs, err := net.LookupHost(host)
		if err != nil {
			addrs = []string{host}
		}
		for _, a := range addrs {
			c.PerIPOverrides[a] = limit
		}
	}
	return c
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
