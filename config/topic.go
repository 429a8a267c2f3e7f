package config

// Topic is a topic's effective settings; the fields are those of storage.LogConfig, so that one converts to the other.
type Topic struct {
	CleanupDelete, CleanupCompact                bool
	CompressionType                              string // producer, uncompressed, gzip, snappy, lz4, zstd
	CompressionGzipLevel                         int32
	CompressionLz4Level                          int32
	CompressionZstdLevel                         int32
	DeleteRetentionMs, FileDeleteDelayMs         int64
	FlushMessages, FlushMs                       int64
	IndexIntervalBytes                           int32
	MaxCompactionLagMs, MinCompactionLagMs       int64
	MaxMessageBytes, MaxDecompressedMessageBytes int32
	MessageTimestampAfterMaxMs                   int64
	MessageTimestampBeforeMaxMs                  int64
	MessageTimestampLogAppendTime                bool
	MinCleanableDirtyRatio                       float64
	MinInsyncReplicas                            int32
	RetentionBytes, RetentionMs                  int64
	SegmentBytes, SegmentIndexBytes              int32
	SegmentMs, SegmentJitterMs                   int64
	UncleanLeaderElectionEnable                  bool
	ProducerIDExpirationMs                       int64 // broker-wide: producer.id.expiration.ms
}

// TopicView resolves a topic's properties: its own over the broker's.
type TopicView struct {
	broker *Resolver
	own    map[string]string
}

// TopicOf makes the view of a topic with its own (stored) settings; nil for none.
func TopicOf(broker *Resolver, own map[string]string) TopicView { return TopicView{broker, own} }

// Value is a topic property's effective normal form. Every topic property has a value.
func (t TopicView) Value(name string) string {
	p := Lookup(ScopeTopic, name)
	if p == nil {
		return ""
	}
	if text, ok := t.own[name]; ok {
		if norm, err := p.Parse(text); err == nil {
			return norm
		}
	}
	if name == "retention.ms" {
		return formatInt(t.broker.LogRetentionMs())
	}
	for _, s := range p.Synonyms {
		if v, ok := t.broker.Value(s.Name); ok {
			if s.Factor == 1 {
				return v
			}
			return formatInt(toInt(v, true) * s.Factor)
		}
	}
	return p.Default
}

// Int is a number (INT, SHORT, LONG).
func (t TopicView) Int(name string) int64 { return toInt(t.Value(name), true) }

// Bool is a BOOLEAN.
func (t TopicView) Bool(name string) bool { return t.Value(name) == "true" }

// Float is a DOUBLE.
func (t TopicView) Float(name string) float64 { return toFloat(t.Value(name), true) }

// List is a LIST.
func (t TopicView) List(name string) []string { return splitList(t.Value(name)) }

// Synonyms is the chain of a topic property: its own value, then the chain of its broker property.
func (t TopicView) Synonyms(name string) []SynonymValue {
	var out []SynonymValue
	if v, ok := t.own[name]; ok {
		out = append(out, SynonymValue{name, v, SourceDynamicTopic})
	}
	if p := Lookup(ScopeTopic, name); p != nil && len(p.Synonyms) > 0 {
		out = append(out, t.broker.BrokerSynonyms(p.Synonyms[0].Name)...)
	}
	return out
}

// TopicConfig gives the typed effective settings of a topic with its own (stored) settings; nil for none.
func TopicConfig(broker *Resolver, own map[string]string) Topic {
	t := TopicOf(broker, own)
	policy := t.Value("cleanup.policy")
	i32 := func(name string) int32 { return int32(t.Int(name)) }
	return Topic{
		CleanupDelete:                 oneOf(policy, "delete"),
		CleanupCompact:                oneOf(policy, "compact"),
		CompressionType:               t.Value("compression.type"),
		CompressionGzipLevel:          i32("compression.gzip.level"),
		CompressionLz4Level:           i32("compression.lz4.level"),
		CompressionZstdLevel:          i32("compression.zstd.level"),
		DeleteRetentionMs:             t.Int("delete.retention.ms"),
		FileDeleteDelayMs:             t.Int("file.delete.delay.ms"),
		FlushMessages:                 t.Int("flush.messages"),
		FlushMs:                       t.Int("flush.ms"),
		IndexIntervalBytes:            i32("index.interval.bytes"),
		MaxCompactionLagMs:            t.Int("max.compaction.lag.ms"),
		MinCompactionLagMs:            t.Int("min.compaction.lag.ms"),
		MaxMessageBytes:               i32("max.message.bytes"),
		MaxDecompressedMessageBytes:   i32("max.decompressed.message.bytes"),
		MessageTimestampAfterMaxMs:    t.Int("message.timestamp.after.max.ms"),
		MessageTimestampBeforeMaxMs:   t.Int("message.timestamp.before.max.ms"),
		MessageTimestampLogAppendTime: t.Value("message.timestamp.type") == "LogAppendTime",
		MinCleanableDirtyRatio:        t.Float("min.cleanable.dirty.ratio"),
		MinInsyncReplicas:             i32("min.insync.replicas"),
		RetentionBytes:                t.Int("retention.bytes"),
		RetentionMs:                   t.Int("retention.ms"),
		SegmentBytes:                  i32("segment.bytes"),
		SegmentIndexBytes:             i32("segment.index.bytes"),
		SegmentMs:                     t.Int("segment.ms"),
		SegmentJitterMs:               t.Int("segment.jitter.ms"),
		UncleanLeaderElectionEnable:   t.Bool("unclean.leader.election.enable"),
		ProducerIDExpirationMs:        broker.Int("producer.id.expiration.ms"),
	}
}
