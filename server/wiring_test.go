package server

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/controller"
	"github.com/kaja-mq/kaja/security"
)

// request sends one request to the broker.
func request[R kmsg.Response](t *testing.T, c *kgo.Client, req kmsg.Request) R {
	t.Helper()
	resp, err := c.Request(testContext(t), req)
	if err != nil {
		t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp.(R)
}

// A BROKER_LOGGER resource changes the level of the process's logger, is described with it, and a refused change changes nothing.
func TestLoggerLevelsAreAltered(t *testing.T) {
	b := startBroker(t, t.TempDir())
	c := kgoClient(t, b)
	var out bytes.Buffer
	var log atomic.Pointer[zerolog.Logger] // set on the controller's goroutine
	start := zerolog.New(&out)
	log.Store(&start)
	b.o.Config.Loggers().OnChange(func() {
		l, err := zerolog.ParseLevel(map[string]string{"DEBUG": "debug", "WARN": "warn"}[b.o.Config.Loggers().Lowest()])
		if err != nil {
			t.Error(err)
		}
		next := log.Load().Level(l)
		log.Store(&next)
	})
	alter := func(level string, want error) {
		t.Helper()
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBrokerLogger, "1"
		cfg := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		cfg.Name, cfg.Value = "root", &level
		r.Configs = append(r.Configs, cfg)
		req.Resources = append(req.Resources, r)
		if got := kerr.ErrorForCode(request[*kmsg.IncrementalAlterConfigsResponse](t, c, req).Resources[0].ErrorCode); got != want {
			t.Errorf("%s: %v, want %v", level, got, want)
		}
	}
	described := func() string {
		req := kmsg.NewPtrDescribeConfigsRequest()
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeBrokerLogger, "1", []string{"root"}
		req.Resources = append(req.Resources, r)
		return *request[*kmsg.DescribeConfigsResponse](t, c, req).Resources[0].Configs[0].Value
	}
	alter("WARN", nil)
	log.Load().Info().Msg("dropped")
	if got := described(); got != "WARN" || out.Len() > 0 {
		t.Errorf("level %s, log %q", got, out.String())
	}
	alter("warn", kerr.InvalidConfig)
	alter("DEBUG", nil)
	log.Load().Debug().Msg("kept")
	if got := described(); got != "DEBUG" || out.Len() == 0 {
		t.Errorf("level %s, log %q", got, out.String())
	}
}

// An ip entity may be named by a host with an address, and by no other.
func TestQuotaHostsAreResolved(t *testing.T) {
	c := kgoClient(t, startBroker(t, t.TempDir()))
	f := func(host string, want error) {
		t.Helper()
		req := kmsg.NewPtrAlterClientQuotasRequest()
		e := kmsg.NewAlterClientQuotasRequestEntry()
		entity := kmsg.NewAlterClientQuotasRequestEntryEntity()
		entity.Type, entity.Name = "ip", &host
		e.Entity = append(e.Entity, entity)
		op := kmsg.NewAlterClientQuotasRequestEntryOp()
		op.Key, op.Value = "connection_creation_rate", 5
		e.Ops = append(e.Ops, op)
		req.Entries = append(req.Entries, e)
		if got := kerr.ErrorForCode(request[*kmsg.AlterClientQuotasResponse](t, c, req).Entries[0].ErrorCode); got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
	f("localhost", nil)
	f("127.0.0.1", nil)
	f("no such host.invalid", kerr.InvalidRequest)
}

// What is stored of a password are the keys of RFC 5802, never what came.
func TestScramKeysAreStored(t *testing.T) {
	b := startBroker(t, t.TempDir())
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	u := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
	u.Name, u.Mechanism, u.Iterations, u.Salt, u.SaltedPassword = "alice", security.ScramSHA256, 4096, []byte("salt"), []byte("salted password")
	req.Upsertions = append(req.Upsertions, u)
	if code := request[*kmsg.AlterUserSCRAMCredentialsResponse](t, kgoClient(t, b), req).Results[0].ErrorCode; code != 0 {
		t.Fatal(kerr.ErrorForCode(code))
	}
	stored, server := security.ScramKeys(security.ScramSHA256, []byte("salted password"))
	got := b.Image().Scram("alice", security.ScramSHA256)
	if got == nil || !bytes.Equal(got.StoredKey, stored) || !bytes.Equal(got.ServerKey, server) {
		t.Errorf("stored %+v", got)
	}
}

// kgoClientAt is a client that talks to one of the broker's listeners.
func kgoClientAt(t *testing.T, b *Broker, listener string) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addrs()[listener]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// alterBroker sets one setting of a broker, or of all (id "").
func alterBroker(t *testing.T, c *kgo.Client, id, name, value string) {
	t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBroker, id
	cfg := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	cfg.Name, cfg.Value = name, &value
	r.Configs = append(r.Configs, cfg)
	req.Resources = append(req.Resources, r)
	got := request[*kmsg.IncrementalAlterConfigsResponse](t, c, req).Resources[0]
	if got.ErrorCode != 0 {
		t.Fatalf("%s=%s: %v %s", name, value, kerr.ErrorForCode(got.ErrorCode), *got.ErrorMessage)
	}
}

// The answer to CreateTopics gives back what was set as it was sent, internal properties too, and all public others.
func TestCreatedTopicTellsSettingsAsSent(t *testing.T) {
	c := kgoClient(t, startBroker(t, t.TempDir()))
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "t", 1, 1
	sent := map[string]string{"retention.ms": " 5 ", "cleanup.policy": "delete,delete", "preallocate": "FALSE", "internal.segment.bytes": "1048576"}
	for name, value := range sent {
		cfg := kmsg.NewCreateTopicsRequestTopicConfig()
		cfg.Name, cfg.Value = name, &value
		topic.Configs = append(topic.Configs, cfg)
	}
	req.Topics = append(req.Topics, topic)
	got := request[*kmsg.CreateTopicsResponse](t, c, req).Topics[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		t.Fatal(err)
	}
	others := 0
	for _, cfg := range got.Configs {
		want, ok := sent[cfg.Name]
		if !ok {
			others++
			continue
		}
		if *cfg.Value != want {
			t.Errorf("%s: %q, want %q", cfg.Name, *cfg.Value, want)
		}
		delete(sent, cfg.Name)
	}
	if len(sent) != 0 || others == 0 {
		t.Errorf("missing %v, %d others", sent, others)
	}
}

// TestLoggersOfParts: a part of the broker has a level of its own as long as one is set, else the root logger's.
func TestLoggersOfParts(t *testing.T) {
	cfg, _, err := config.Load(config.Sources{Env: []string{"KAFKA_LOG4J_LOGGERS=kafka.controller=WARN,kaja.storage=ERROR"}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	b := &Broker{o: Options{Config: cfg, Log: zerolog.New(&out)}}
	storage, network := b.component("storage"), b.component("network")
	f := func(want string) {
		t.Helper()
		out.Reset()
		for _, l := range []zerolog.Logger{storage, network} {
			l.Debug().Msg("d")
			l.Info().Msg("i")
			l.Warn().Msg("w")
		}
		if got := strings.ReplaceAll(out.String(), "\n", ""); got != want {
			t.Errorf("logged %s, want %s", got, want)
		}
	}
	line := func(level, part, message string) string {
		return `{"level":"` + level + `","component":"` + part + `","message":"` + message + `"}`
	}
	f(line("info", "network", "i") + line("warn", "network", "w"))
	b.setLogLevel(controller.LogLevel{Logger: "kaja.network", Level: "WARN"})
	f(line("warn", "network", "w"))
	b.setLogLevel(controller.LogLevel{Logger: "kaja.storage"})
	f(line("info", "storage", "i") + line("warn", "storage", "w") + line("warn", "network", "w"))
}
