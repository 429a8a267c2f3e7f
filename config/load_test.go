package config

import (
	"strings"
	"testing"
)

func load(t *testing.T, src Sources) (*Static, string) {
	t.Helper()
	s, warnings, err := Load(src)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return s, strings.Join(warnings, "\n")
}

func TestDefaultMode(t *testing.T) {
	s, warnings := load(t, Sources{Env: []string{"HOME=/root", "KAFKA_HOME=/opt/kafka", "KAFKA_HEAP_OPTS=-Xmx1g"}, Overrides: []string{"num.partitions=3"}})
	if !s.DefaultMode() || !s.IsBroker() || !s.IsController() || s.NodeID() != 1 || !s.SoleVoter() {
		t.Errorf("not a combined node 1: %+v", s.facts)
	}
	if got := s.Listeners(); len(got) != 1 || got[0].Addr() != "localhost:9092" || got[0].Protocol != "PLAINTEXT" || s.Advertised()[0] != got[0] {
		t.Errorf("listeners %v, advertised %v", got, s.Advertised())
	}
	if got := strings.Join(s.LogDirs(), ","); got != "./kaja-data" || s.MetadataLogDir() != "./kaja-data" {
		t.Errorf("log dirs %q, metadata %q", got, s.MetadataLogDir())
	}
	for name, want := range map[string]int64{"offsets.topic.replication.factor": 1, "transaction.state.log.replication.factor": 1, "transaction.state.log.min.isr": 1,
		"share.coordinator.state.topic.replication.factor": 1, "group.initial.rebalance.delay.ms": 0, "num.partitions": 3, "offsets.topic.num.partitions": 50} {
		if got := s.Int(name); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
	if warnings != "" {
		t.Errorf("warnings: %s", warnings)
	}
}

func TestEphemeral(t *testing.T) {
	s, _ := load(t, Sources{Ephemeral: true, DataDir: "/tmp/x", File: []byte("process.roles=broker,controller\nnode.id=1\nlog.dirs=/var/a,/var/b\nmetadata.log.dir=/var/m\n")})
	if got := strings.Join(s.LogDirs(), ","); got != "/tmp/x" || s.MetadataLogDir() != "/tmp/x" || !s.Ephemeral() {
		t.Errorf("log dirs %q, metadata %q", got, s.MetadataLogDir())
	}
}

const combined = "process.roles=broker,controller\nnode.id=7\ncontroller.quorum.voters=7@localhost:9093\ncontroller.listener.names=CONTROLLER\n" +
	"listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093\nlog.dirs=/data\n"

func TestPrecedence(t *testing.T) {
	src := Sources{FileName: "server.properties", File: []byte(combined + "num.partitions=2\nlog.retention.hours=1\nlog.segment.bytes=2000000\n"),
		Env: []string{"KAFKA_NUM_PARTITIONS=3", "KAFKA_LOG_RETENTION_HOURS=2"}, Overrides: []string{"num.partitions=4"}}
	s, _ := load(t, src)
	for name, want := range map[string]int64{"num.partitions": 4, "log.retention.hours": 2, "log.segment.bytes": 2000000, "default.replication.factor": 1,
		"offsets.topic.replication.factor": 3, "group.initial.rebalance.delay.ms": 3000} {
		if got := s.Int(name); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
	if s.DefaultMode() {
		t.Error("default mode although a file is given")
	}
	if got := s.ControllerListeners(); len(got) != 1 || got[0].Name != "CONTROLLER" || got[0].Port != 9093 {
		t.Errorf("controller listeners %v", got)
	}
	if got := s.Listeners(); len(got) != 1 || got[0].Name != "PLAINTEXT" || s.InterBrokerListener() != "PLAINTEXT" {
		t.Errorf("listeners %v, inter broker %s", got, s.InterBrokerListener())
	}
	if got := s.Voters(); len(got) != 1 || got[0] != (Voter{7, "localhost", 9093}) || !s.SoleVoter() {
		t.Errorf("voters %v", got)
	}
}

// TestTestcontainers takes the environment that test libraries give to Kafka's image.
func TestTestcontainers(t *testing.T) {
	s, warnings := load(t, Sources{Env: []string{
		"KAFKA_LISTENERS=PLAINTEXT://:9092,BROKER://:9093,CONTROLLER://:9094,", "KAFKA_NODE_ID=1", "KAFKA_BROKER_ID=1", "CLUSTER_ID=4L6g3nShT-eMCtK--X86sw",
		"KAFKA_PROCESS_ROLES=broker,controller", "KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER", "KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9094",
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,", "KAFKA_INTER_BROKER_LISTENER_NAME=BROKER",
		"KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:55001,BROKER://8d1f:9093,", "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES=9223372036854775807",
		"KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE=0", "KAFKA_PORT=tcp://10.1.2.3:9092", "KAFKA_LOG_DIRS=/tmp/l", "KAFKA_LOG4J_ROOT_LOGLEVEL=debug",
	}})
	if len(s.Listeners()) != 2 || len(s.Advertised()) != 2 || s.Advertised()[0].Port != 55001 || s.InterBrokerListener() != "BROKER" {
		t.Errorf("listeners %v, advertised %v", s.Listeners(), s.Advertised())
	}
	if s.ClusterID() != "4L6g3nShT-eMCtK--X86sw" || s.Loggers().Level(RootLogger) != "DEBUG" {
		t.Errorf("cluster id %q, loggers %v", s.ClusterID(), s.Loggers().Levels())
	}
	want := "KAFKA_ADVERTISED_LISTENERS ends with a comma, which is left out\nKAFKA_LISTENERS ends with a comma, which is left out"
	if warnings != want {
		t.Errorf("warnings:\n%s\nwant:\n%s", warnings, want)
	}
}

func TestEnvironmentAlone(t *testing.T) {
	s, warnings := load(t, Sources{Env: []string{"KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://kafka:9092", "KAFKA_ZOOKEEPER_CONNECT=zk:2181", "KAFKA_LOG_DIRS=/l"}})
	if got := s.Listeners(); len(got) != 1 || got[0].Addr() != "0.0.0.0:9092" || s.Advertised()[0].Host != "kafka" {
		t.Errorf("listeners %v, advertised %v", got, s.Advertised())
	}
	want := "unknown settings are ignored: zookeeper.connect\nprocess.roles is not set: running as broker and controller\nnode.id is not set: taking 1"
	if warnings != want {
		t.Errorf("warnings:\n%s\nwant:\n%s", warnings, want)
	}
}

func TestBitnami(t *testing.T) {
	for _, env := range [][]string{{"KAFKA_NUM_PARTITIONS=2", "KAFKA_CFG_NUM_PARTITIONS=5"}, {"KAFKA_CFG_NUM_PARTITIONS=5", "KAFKA_NUM_PARTITIONS=2"}} {
		s, _ := load(t, Sources{Env: append(env, "KAFKA_CFG_LOG_DIRS=/l")})
		if got := s.Int("num.partitions"); got != 5 {
			t.Errorf("%v: got %d, want KAFKA_CFG_ to win", env, got)
		}
	}
}

// TestEnvironmentEscapes: Kafka's image writes variables into a properties file, so its escapes apply.
func TestEnvironmentEscapes(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		got, err := unescape(text)
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	f(`a\tb`, "a\tb")
	f(`C:\\x`, `C:\x`)
	f(" lead", "lead")
	f("", "")
	f("line one \\\n  line two\n", "line one line two")
	f("user=a\npassword=b\n", "user=a password=b")
	f("münchen", "münchen")
	f("#5", "#5")
}

func TestRefused(t *testing.T) {
	f := func(lines, want string) {
		t.Helper()
		_, _, err := Load(Sources{FileName: "f", File: []byte(combined + lines)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", lines, err, want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: more than one line: %v", lines, err)
		}
	}
	f("remote.log.storage.system.enable=true", "remote.log.storage.system.enable=true is refused: kaja has no tiered storage; remove it")
	f("log.retention.ms=x", "Invalid value x for configuration log.retention.ms: Not a number of type LONG (from f)")
	f("log.retention.ms=0", "log.retention.ms must be unlimited (-1)")
	f("broker.id=3", "broker.id=3 and node.id=7 differ; remove broker.id")
	f("node.id=-4", "Invalid value -4 for configuration node.id")
	f("advertised.listeners=PLAINTEXT://0.0.0.0:9092", "listener PLAINTEXT advertises 0.0.0.0, clients cannot connect to it; set advertised.listeners")
	f("listeners=PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093", "listener PLAINTEXT would advertise 0.0.0.0")
	f("listeners=PLAINTEXT://localhost:9092,,CONTROLLER://:9093", "Configuration 'listeners' values must not be empty.")
	f("advertised.listeners=", "Configuration 'advertised.listeners' must not be empty.")
	f("process.roles=broker,,controller", "Configuration 'process.roles' values must not be empty.")
	f("process.roles=broker,zookeeper", "String must be one of: broker, controller")
	f("listeners=PLAINTEXT://localhost:9093,CONTROLLER://localhost:9093", "are both on localhost:9093")
	f("listeners=PLAINTEXT://localhost:9092,plaintext://localhost:9095,CONTROLLER://:9093", "two entries named PLAINTEXT")
	f("listeners=PLAINTEXT://localhost:9092,FOO://localhost:9095,CONTROLLER://:9093", "no security protocol is defined for listener FOO")
	f("listeners=PLAINTEXT//localhost:9092", "is not of the form NAME://host:port")
	f("listeners=PLAINTEXT://localhost", "has no port")
	f("listeners=PLAINTEXT://localhost:99999", "no valid port")
	f("listeners=CONTROLLER://localhost:9093", "no listener is left for clients")
	f("advertised.listeners=OTHER://h:1\nlistener.security.protocol.map=OTHER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "OTHER, which is not among listeners")
	f("inter.broker.listener.name=NOPE", "listener NOPE")
	f("inter.broker.listener.name=CONTROLLER", "is among controller.listener.names")
	f("inter.broker.listener.name=PLAINTEXT\nsecurity.inter.broker.protocol=PLAINTEXT", "are both set")
	f("controller.quorum.voters=1@h:9093", "does not name node 7")
	f("controller.quorum.voters=7@h", "Each entry should be in the form `{id}@{host}:{port}`")
	f("controller.quorum.voters=7@h:1,7@i:2", "names node 7 twice")
	f("process.roles=broker", "controller.quorum.voters names node 7 although process.roles has no controller")
	f("process.roles=broker\ncontroller.quorum.voters=", "needs controller.quorum.bootstrap.servers")
	f("process.roles=broker\ncontroller.quorum.voters=8@h:9093", "has the controller listener CONTROLLER although")
	f("listener.security.protocol.map=PLAINTEXT:FOO", "is no security protocol")
	f("log.cleaner.threads=200", "at least 1MB per cleaner thread")
	f("broker.session.timeout.ms=100", "at least twice")
	f("max.connections.per.ip.overrides=1.2.3.4:x", "is not of the form address:count")
	f("log.dirs=", "Configuration 'log.dirs' must not be empty.")
	f("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer", "is refused: ACLs are not enforced yet")
	f("a=\\u12", "is no properties file")
	if _, _, err := Load(Sources{Overrides: []string{"x"}}); err == nil || !strings.Contains(err.Error(), "not of the form KEY=VALUE") {
		t.Errorf("override without value: %v", err)
	}
}

func TestTaken(t *testing.T) {
	f := func(lines, warning string) {
		t.Helper()
		_, warnings, err := Load(Sources{FileName: "f", File: []byte(combined + lines)})
		if got := strings.Join(warnings, "; "); err != nil || got != warning {
			t.Errorf("%q: got %q, %v, want %q", lines, got, err, warning)
		}
	}
	f("", "")
	f("listeners=PLAINTEXT://localhost:9092 , CONTROLLER://:9093", "")
	f("advertised.listeners=PLAINTEXT://h:1,PLAINTEXT://h:1", "")
	f("advertised.listeners=PLAINTEXT://h:1,CONTROLLER://h:2", "")
	f("listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,", "")
	f("broker.id=7", "")
	f("listeners=PLAINTEXT://[::1]:9092,CONTROLLER://:9093", "")
	f("no.such=1\nother.thing=2", "unknown settings are ignored: no.such, other.thing")
	f("listener.name.plaintext.max.connections=5\nlistener.name.plaintext.plain.sasl.jaas.config=x", "")
	f("create.topic.policy.class.name=x.Y", "create.topic.policy.class.name is not supported and is ignored: Java classes cannot be loaded")
	f("telemetry.max.bytes=5", "settings without effect until their feature is there: telemetry.max.bytes (client telemetry)")
}

// TestSecretsStay: no error and no warning repeats a password.
func TestSecretsStay(t *testing.T) {
	_, warnings, err := Load(Sources{FileName: "f", File: []byte(combined + "ssl.keystore.password=hunter2\nlistener.name.x.ssl.key.password=hunter2\nunknown.password=hunter2\nlog.retention.ms=x")})
	if text := strings.Join(warnings, "") + err.Error(); strings.Contains(text, "hunter2") {
		t.Errorf("the password shows in %q", text)
	}
}

// FuzzLoad: no file and no environment makes Load panic; what it returns can be read.
func FuzzLoad(f *testing.F) {
	f.Add(combined, "KAFKA_LISTENERS=PLAINTEXT://:9092")
	f.Add("controller.quorum.voters=1@[::1]:9093\nlisteners=A://[::1]:1", "KAFKA_ADVERTISED_LISTENERS=://:")
	f.Fuzz(func(t *testing.T, file, env string) {
		s, _, err := Load(Sources{FileName: "f", File: []byte(file), Env: strings.Split(env, "\n")})
		if err != nil {
			return
		}
		for i := range Properties(ScopeBroker) {
			s.Str(Properties(ScopeBroker)[i].Name)
		}
		TopicConfig(Broker(s, nil, nil), nil)
	})
}

// TestDirNamedTwice: Kafka takes a directory that log.dirs names twice once.
func TestDirNamedTwice(t *testing.T) {
	s, _ := load(t, Sources{FileName: "server.properties", File: []byte(combined + "log.dirs=/b,/a,/b,/a\n")})
	if got := strings.Join(s.LogDirs(), ","); got != "/b,/a" {
		t.Errorf("log dirs %q", got)
	}
}
