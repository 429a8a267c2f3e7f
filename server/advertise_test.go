package server

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// toldAt asks a broker over the address for its own: host:port of each broker, in Metadata, DescribeCluster and FindCoordinator.
func toldAt(t *testing.T, addr string) string {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seed := c.SeedBrokers()[0]
	var out []string
	for _, req := range []kmsg.Request{kmsg.NewPtrMetadataRequest(), kmsg.NewPtrDescribeClusterRequest(), &kmsg.FindCoordinatorRequest{CoordinatorKeys: []string{"g"}}} {
		resp, err := seed.RetriableRequest(testContext(t), req)
		if err != nil {
			t.Fatal(err)
		}
		switch r := resp.(type) {
		case *kmsg.MetadataResponse:
			out = append(out, net.JoinHostPort(r.Brokers[0].Host, fmt.Sprint(r.Brokers[0].Port)))
		case *kmsg.DescribeClusterResponse:
			out = append(out, net.JoinHostPort(r.Brokers[0].Host, fmt.Sprint(r.Brokers[0].Port)))
		case *kmsg.FindCoordinatorResponse:
			out = append(out, net.JoinHostPort(r.Coordinators[0].Host, fmt.Sprint(r.Coordinators[0].Port)))
		}
	}
	if out[0] != out[1] || out[1] != out[2] {
		t.Errorf("Metadata, DescribeCluster and FindCoordinator tell different addresses: %v", out)
	}
	return out[0]
}

// TestAdvertisedAuto: each client is told the address that it came to.
func TestAdvertisedAuto(t *testing.T) {
	b := startBroker(t, t.TempDir(), "listeners=PLAINTEXT://0.0.0.0:0", "advertised.listeners=auto", "offsets.topic.num.partitions=1")
	port := fmt.Sprint(b.listening[0].addr().Port)
	for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
		if got, want := toldAt(t, host+":"+port), host+":"+port; got != want {
			t.Errorf("told %s, want %s", got, want)
		}
	}
}

func alterAdvertised(t *testing.T, b *Broker, value *string) error {
	t.Helper()
	op := kadm.SetConfig
	if value == nil {
		op = kadm.DeleteConfig
	}
	resp, err := kadm.NewClient(kgoClient(t, b)).AlterBrokerConfigs(testContext(t), []kadm.AlterConfig{{Op: op, Name: "advertised.listeners", Value: value}}, b.NodeID())
	if err != nil {
		t.Fatal(err)
	}
	if resp[0].Err != nil {
		return fmt.Errorf("%w: %s", resp[0].Err, resp[0].ErrMessage)
	}
	return nil
}

// TestAlterAdvertised: the address that clients are told may be set while the broker runs, holds after a restart, and goes back.
func TestAlterAdvertised(t *testing.T) {
	dir := t.TempDir()
	b := startBroker(t, dir, "offsets.topic.num.partitions=1", "listeners=PLAINTEXT://0.0.0.0:0", "advertised.listeners=PLAINTEXT://127.0.0.1:0")
	port := fmt.Sprint(b.listening[0].addr().Port)
	first := "127.0.0.1:" + port
	epoch := b.Image().Broker(1).Epoch
	moved := strings.Replace(first, "127.0.0.1", "127.0.0.3", 1)
	if err := alterAdvertised(t, b, kadm.StringPtr("PLAINTEXT://"+moved)); err != nil {
		t.Fatal(err)
	}
	if got := toldAt(t, first); got != moved {
		t.Errorf("told %s, want %s", got, moved)
	}
	if r := b.Image().Broker(1); r.Epoch != epoch || r.Fenced || len(r.LogDirs) != 1 {
		t.Errorf("registration %+v, epoch was %d", r, epoch)
	}
	if err := alterAdvertised(t, b, kadm.StringPtr("PLAINTEXT://0.0.0.0:1")); err == nil || !strings.Contains(err.Error(), "clients cannot connect to it") {
		t.Errorf("0.0.0.0 is taken: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = startBroker(t, dir, "listeners=PLAINTEXT://0.0.0.0:"+port, "advertised.listeners=PLAINTEXT://"+first)
	if got := toldAt(t, first); got != moved {
		t.Errorf("after a restart: told %s, want %s", got, moved)
	}
	if err := alterAdvertised(t, b, nil); err != nil {
		t.Fatal(err)
	}
	if got := toldAt(t, first); got != first {
		t.Errorf("after deletion: told %s, want %s", got, first)
	}
}
