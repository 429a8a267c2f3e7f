package groups

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kaja-mq/kaja/compat-tests/corpus"
)

// moves are members of the classic protocol, and of the consumer protocol, that replace each other.
var moves = [][2]string{
	{"java classic", "java consumer"},
	{"librdkafka classic", "librdkafka consumer"},
	{"java classic", "go kgo-consumer"},
	{"librdkafka classic", "java consumer"},
}

// TestGroupsMigrate moves groups from the classic to the consumer protocol and back while they run, a member at a time.
func TestGroupsMigrate(t *testing.T) {
	dir := os.Getenv("MEMBERS")
	if dir == "" {
		t.Fatal("MEMBERS is not set: run scripts/compat, which builds the members")
	}
	for _, m := range moves {
		t.Run(strings.ReplaceAll(m[0]+" "+m[1], " ", "-"), func(t *testing.T) {
			t.Parallel()
			migrate(t, dir+"/"+m[0], dir+"/"+m[1])
		})
	}
}

func migrate(t *testing.T, classic, consumer string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(corpus.Bootstrap(t)), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	name := func(command string) string {
		return strings.ReplaceAll(command[strings.LastIndex(command, "/")+1:], " ", "-")
	}
	topic := corpus.Topic(t, "move-"+name(classic)+"-"+name(consumer))
	if r, err := adm.CreateTopic(ctx, partitions, 1, nil, topic); err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	defer func() { _, _ = adm.DeleteTopics(context.Background(), topic) }() // a leftover harms nobody
	g := newGroup(t, classic, topic)
	g.moves = true
	defer g.end()
	kind := func(want string) {
		t.Helper()
		ls, err := adm.ListGroups(ctx)
		if got := ls[topic].GroupType; err != nil || got != want {
			t.Errorf("the group is %q, want %q: %v", got, want, err)
		}
	}

	one, two := g.start(), g.start()
	g.owned("two classic members", one, two)
	feed := startFeed(ctx, t, cl, topic)
	defer feed.stop()
	watch := startWatch(ctx, t, adm, g)
	defer watch.stop()
	g.received(enough, one, two)
	kind("classic")

	g.command = strings.Fields(consumer)
	three := g.start()
	g.owned("two classic members and a consumer", one, two, three)
	g.received(enough, one, two, three)
	kind("consumer")
	one.close()
	four := g.start()
	g.owned("a classic member and two consumers", two, three, four)
	g.received(enough, two, three, four)
	two.close()
	g.owned("two consumers", three, four)
	g.received(enough, three, four)
	kind("consumer")

	g.command = strings.Fields(classic)
	five := g.start()
	g.owned("two consumers and a classic member", three, four, five)
	g.received(enough, three, four, five)
	three.close()
	six := g.start()
	g.owned("a consumer and two classic members", four, five, six)
	g.received(enough, four, five, six)
	kind("consumer")
	four.close()
	g.owned("two classic members at the end", five, six)
	g.received(enough, five, six)
	kind("classic")

	ends := feed.stop()
	g.wait("all records", func() string { return g.lacks(ends) })
	g.wait("all committed", func() string { return watch.lacks(ends) })
	watch.stop()
	g.judge()
	five.close()
	six.close()
}
