package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
)

// checkCluster looks at a cluster as a client does; false if nobody answered. required makes it a problem that nobody listens.
func (d *doctor) checkCluster(ctx context.Context, bootstrap []string, required bool) (running bool) {
	var k *kafkaConn
	var m *kmsg.MetadataResponse
	seen := map[string]bool{}
	for _, addr := range bootstrap {
		c := d.checkAddress(ctx, addr, "bootstrap address", required)
		if c == nil {
			continue
		}
		running = true
		defer c.Close() // a few
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = nil // all
		resp, err := c.ask(req)
		if err != nil {
			d.fail(addr+" does not answer Metadata: "+err.Error(), sasl)
			continue
		}
		k, m = c, resp.(*kmsg.MetadataResponse)
		d.checkBrokers(ctx, m, addr, seen) // each listener advertises addresses of its own
	}
	if !running && !required {
		d.ok("no broker runs here yet (%s)", strings.Join(bootstrap, ", "))
	}
	if m == nil {
		return running
	}
	d.checkTopics(m)
	d.checkFactors(k, m)
	d.checkBrokerDisks(k, m)
	d.checkBrokerClock(k)
	return true
}

const sasl = "if the listener wants TLS or a password, ask a listener that wants neither (this command has none), or try with a client"

// checkAddress resolves, dials and greets.
func (d *doctor) checkAddress(ctx context.Context, addr, what string, required bool) *kafkaConn {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		d.fail(what+" "+addr+" is not of the form HOST:PORT", "")
		return nil
	}
	if net.ParseIP(host) == nil && !d.checkName(ctx, host, what) {
		return nil
	}
	k, err := d.connect(ctx, addr)
	switch {
	case err == nil:
		d.ok("%s %s answers", what, addr)
		return k
	case errors.Is(err, errNoKafka):
		d.fail(what+" "+addr+": "+err.Error(), "see whether another program has the port, or whether the listener wants TLS (listener.security.protocol.map)")
	case errors.Is(err, syscall.ECONNREFUSED):
		if required {
			d.fail(what+" "+addr+": nobody listens there (connection refused)",
				"see whether the broker runs and has port "+port+" in listeners; a broker on localhost is not reachable from other machines or containers; "+
					"a container's port must be published (-p "+port+":"+port+")")
		}
	case errors.Is(err, os.ErrDeadlineExceeded) || isTimeout(err):
		d.fail(what+" "+addr+": no answer within "+dialTimeout.String(), "a firewall drops packets, or the address is of another network: try from the machine where the clients run")
	default:
		d.fail(what+" "+addr+": "+err.Error(), "see whether the address is right and there is a route to it")
	}
	return nil
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func (d *doctor) checkName(ctx context.Context, host, what string) bool {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addrs, err := d.lookup(ctx, host)
	if err != nil || len(addrs) == 0 {
		do := "correct the name, or let this machine's DNS or hosts file know it"
		if !strings.Contains(host, ".") {
			do = "names without a dot, such as those of containers, are known only inside their own network: " + do
		}
		d.fail(what+": the name "+host+" is not known here", do)
		return false
	}
	d.ok("%s: the name %s leads to %s", what, host, strings.Join(addrs, ", "))
	return true
}

// checkBrokers goes where clients are sent, and sees whether that is where the cluster says; once for each address.
func (d *doctor) checkBrokers(ctx context.Context, m *kmsg.MetadataResponse, from string, seen map[string]bool) {
	if len(m.Brokers) == 0 {
		d.fail("the cluster names no broker", "the brokers are starting or fenced: look at their logs")
		return
	}
	fromHost, _, _ := net.SplitHostPort(from)
	for i := range m.Brokers {
		b := &m.Brokers[i]
		addr := net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		what := fmt.Sprintf("broker %d advertises", b.NodeID)
		if seen[addr] {
			continue
		}
		seen[addr] = true
		if isLoopback(b.Host) && !isLoopback(fromHost) {
			d.fail(fmt.Sprintf("broker %d advertises %s, which is every client's own machine, though it was reached as %s", b.NodeID, addr, fromHost),
				"set advertised.listeners of the broker to "+net.JoinHostPort(fromHost, strconv.Itoa(int(b.Port)))+" or another address that clients can reach, or to auto (kaja)")
			continue
		}
		k := d.checkAddress(ctx, addr, what, true)
		if k == nil {
			d.line("    ", "clients that ask "+from+" are sent to "+addr+": correct advertised.listeners, which must be what clients use to get to the broker (docs/listeners.md); if it is right where they run, run doctor there", "")
			continue
		}
		d.checkIdentity(k, m, b.NodeID, addr)
		_ = k.Close() // all answers have been read
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkIdentity: an advertised address may lead to another broker, or to another cluster: two on one machine, a wrong forwarding.
func (d *doctor) checkIdentity(k *kafkaConn, m *kmsg.MetadataResponse, id int32, addr string) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := k.ask(req)
	if err != nil {
		d.fail(addr+" does not answer Metadata: "+err.Error(), sasl)
		return
	}
	other := resp.(*kmsg.MetadataResponse)
	if m.ClusterID != nil && other.ClusterID != nil && *m.ClusterID != *other.ClusterID {
		d.fail(fmt.Sprintf("%s, where broker %d should be, belongs to another cluster (%s instead of %s)", addr, id, *other.ClusterID, *m.ClusterID),
			"two brokers advertise the same address, or the port is forwarded to the wrong one: give each broker a port of its own in advertised.listeners")
		return
	}
	describe := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(id)), []string{"node.id"}
	describe.Resources = append(describe.Resources, r)
	answer, err := k.ask(describe)
	if err != nil {
		return // perhaps not allowed
	}
	if rs := answer.(*kmsg.DescribeConfigsResponse).Resources; len(rs) == 1 && rs[0].ErrorCode == kerr.InvalidRequest.Code {
		d.fail(fmt.Sprintf("%s leads to another broker than %d", addr, id),
			"two brokers advertise the same address, or the port is forwarded to the wrong one: give each broker an address of its own in advertised.listeners")
	}
}

// maxNamed bounds how many topics a line names.
const maxNamed = 5

func (d *doctor) checkTopics(m *kmsg.MetadataResponse) {
	var dead, behind []string
	for i := range m.Topics {
		t := &m.Topics[i]
		leaderless, under := 0, 0
		for j := range t.Partitions {
			p := &t.Partitions[j]
			switch {
			case p.Leader < 0:
				leaderless++
			case len(p.ISR) < len(p.Replicas):
				under++
			}
		}
		name := ""
		if t.Topic != nil {
			name = *t.Topic
		}
		if leaderless > 0 {
			dead = append(dead, name)
		}
		if under > 0 {
			behind = append(behind, name)
		}
	}
	if len(dead) > 0 {
		d.fail("partitions without a leader: "+some(dead), "start the brokers that have their replicas, or look at those for failed log directories")
	}
	if len(behind) > 0 {
		d.warn("partitions whose replicas are not all in sync: "+some(behind), "see whether all brokers run and keep up")
	}
	if len(dead)+len(behind) == 0 {
		d.ok("%s, all partitions have a leader and all replicas in sync", plural(len(m.Topics), "topic"))
	}
}

func some(names []string) string {
	slices.Sort(names)
	if len(names) > maxNamed {
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", len(names)-maxNamed)
	}
	return strings.Join(names, ", ")
}

// factors are the settings that ask for a number of brokers, and what happens when there are not so many.
var factors = []struct{ name, without string }{
	{"offsets.topic.replication.factor", "consumer groups cannot start: consumers hang without an error"},
	{"transaction.state.log.replication.factor", "transactions cannot start"},
	{"share.coordinator.state.topic.replication.factor", "share groups cannot start"},
	{"default.replication.factor", "topics cannot be created automatically"},
	{"min.insync.replicas", "producers with acks=all are refused (NOT_ENOUGH_REPLICAS) on topics with several replicas"},
	{"transaction.state.log.min.isr", "transactions are refused"},
}

// madeOnce are the topics whose factor matters only until they exist.
var madeOnce = map[string]string{"offsets.topic.replication.factor": "__consumer_offsets", "transaction.state.log.replication.factor": "__transaction_state",
	"share.coordinator.state.topic.replication.factor": "__share_group_state"}

// checkFactors compares what brokers are set to with how many there are.
func (d *doctor) checkFactors(k *kafkaConn, m *kmsg.MetadataResponse) {
	if len(m.Brokers) == 0 {
		return
	}
	there := map[string]int{} // topics and their fewest replicas
	for i := range m.Topics {
		if t := &m.Topics[i]; t.Topic != nil && len(t.Partitions) > 0 {
			there[*t.Topic] = len(t.Partitions[0].Replicas)
		}
	}
	values := d.brokerConfigs(k, m)
	if values == nil {
		return
	}
	lowers := len(m.Brokers) == 1 && d.isKaja(k, m.Brokers[0].NodeID)
	before := d.failed + d.warned
	for _, f := range factors {
		v := values[f.name]
		n, err := strconv.Atoi(v.value)
		if err != nil || n <= len(m.Brokers) {
			continue
		}
		topic, internal := madeOnce[f.name]
		if lowers && v.unset && (internal || strings.HasSuffix(f.name, ".min.isr")) {
			continue
		}
		_, made := there[topic]
		do := fmt.Sprintf("start %s, or set %s=%d and restart", plural(n, "broker"), f.name, len(m.Brokers))
		switch {
		case made:
			continue // it could be made
		case f.name == "min.insync.replicas" && len(m.Brokers) == 1, f.name == "transaction.state.log.min.isr" && len(m.Brokers) == 1, strings.HasPrefix(f.name, "share."):
			d.warn(fmt.Sprintf("%s=%d, but there is %s: %s", f.name, n, plural(len(m.Brokers), "broker"), f.without), do)
		default:
			d.fail(fmt.Sprintf("%s=%d, but there is %s: %s", f.name, n, plural(len(m.Brokers), "broker"), f.without), do)
		}
	}
	if d.failed+d.warned == before {
		d.ok("%s, enough for all replication factors", plural(len(m.Brokers), "broker"))
	}
}

// brokerConfigs are the settings of the broker that k leads to, nil when they are not told.
func (d *doctor) brokerConfigs(k *kafkaConn, m *kmsg.MetadataResponse) map[string]setting {
	for i := range m.Brokers {
		req := kmsg.NewPtrDescribeConfigsRequest()
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(m.Brokers[i].NodeID))
		req.Resources = append(req.Resources, r)
		resp, err := k.ask(req)
		if err != nil {
			return nil
		}
		rs := resp.(*kmsg.DescribeConfigsResponse).Resources
		if len(rs) != 1 || rs[0].ErrorCode != 0 {
			continue // another broker's
		}
		values := map[string]setting{}
		for _, c := range rs[0].Configs {
			if c.Value != nil {
				values[c.Name] = setting{*c.Value, c.Source == kmsg.ConfigSourceDefaultConfig}
			}
		}
		return values
	}
	return nil
}

// setting is a property of a broker; unset is one that has its default.
type setting struct {
	value string
	unset bool
}

// isKaja tells kaja by its loggers. Alone, it makes internal topics with one replica unless it is told otherwise.
func (d *doctor) isKaja(k *kafkaConn, id int32) bool {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeBrokerLogger, strconv.Itoa(int(id)), []string{config.LoggerPrefix + "network"}
	req.Resources = append(req.Resources, r)
	resp, err := k.ask(req)
	if err != nil {
		return false
	}
	rs := resp.(*kmsg.DescribeConfigsResponse).Resources
	return len(rs) == 1 && len(rs[0].Configs) == 1
}

// Room on a disk below which there is a warning: a tenth, or for a small disk so many bytes; below the lower bound it is a problem.
const (
	littleShare = 10
	littleBytes = 5 << 30
	noBytes     = 200 << 20
)

func (d *doctor) checkBrokerDisks(k *kafkaConn, m *kmsg.MetadataResponse) {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Topics = nil
	resp, err := k.ask(req)
	if err != nil {
		return
	}
	for _, dir := range resp.(*kmsg.DescribeLogDirsResponse).Dirs {
		if dir.ErrorCode == kerr.KafkaStorageError.Code {
			d.fail("log directory "+dir.Dir+" of the broker has failed", "look at the broker's log for the disk's error; repair it and restart the broker")
		} else if dir.ErrorCode == 0 && req.Version >= 4 {
			d.checkSpace("log directory "+dir.Dir+" of the broker", dir.TotalBytes, dir.UsableBytes)
		}
	}
}

// checkSpace judges the room on a volume; less than 0 is unknown.
func (d *doctor) checkSpace(what string, total, usable int64) {
	const do = "make room, or let retention.ms and retention.bytes remove more"
	switch {
	case total <= 0 || usable < 0:
	case usable < noBytes:
		d.fail(what+": only "+bytesText(usable)+" are left of "+bytesText(total), do)
	case usable < total/littleShare && usable < littleBytes:
		d.warn(what+": only "+bytesText(usable)+" are left of "+bytesText(total), do)
	default:
		d.ok("%s has %s left of %s", what, bytesText(usable), bytesText(total))
	}
}

// skewMs is how far the clocks of client and broker may be apart: record times decide what retention removes.
const skewMs = 5000

// checkBrokerClock compares this machine's clock with the broker's, which it tells with the state of the metadata quorum.
func (d *doctor) checkBrokerClock(k *kafkaConn) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = "__cluster_metadata"
	t.Partitions = append(t.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, t)
	resp, err := k.ask(req)
	if err != nil || req.Version < 1 {
		return
	}
	r := resp.(*kmsg.DescribeQuorumResponse)
	if r.ErrorCode != 0 || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return
	}
	p := &r.Topics[0].Partitions[0]
	for _, v := range p.CurrentVoters {
		if v.ReplicaID != p.LeaderID || v.LastCaughtUpTimestamp <= 0 {
			continue
		}
		off := v.LastCaughtUpTimestamp - d.p.Clock.Wall().UnixMilli()
		if off < -skewMs || off > skewMs {
			d.warn(fmt.Sprintf("the clocks of this machine and of the controller differ by %.1f s", float64(off)/1000),
				"let both take the time from the network (NTP): record times decide what retention removes and what look-ups by time find")
			return
		}
		d.ok("the clocks of this machine and of the controller agree")
	}
}
