package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The plans of kafka-reassign-partitions: what its JSON files say, and what follows from them without asking anybody.

const (
	classAdminFailed    = "org.apache.kafka.tools.AdminCommandFailedException"
	classAdminOperation = "org.apache.kafka.tools.AdminOperationException"
	classJSONMapping    = "com.fasterxml.jackson.databind.JsonMappingException"
	anyLogDir           = "any"
)

// partitionReplica is a partition on a broker.
type partitionReplica struct {
	topicPartition
	Broker int32
}

func (r partitionReplica) String() string {
	return fmt.Sprintf("%s-%d-%d", r.Topic, r.Partition, r.Broker)
}

// compareReplicas sorts by broker, then by partition.
func compareReplicas(a, b partitionReplica) int {
	if a.Broker != b.Broker {
		return int(a.Broker) - int(b.Broker)
	}
	return compareTopicPartitions(a.topicPartition, b.topicPartition)
}

func partitionText(tp topicPartition) string { return fmt.Sprintf("%s-%d", tp.Topic, tp.Partition) }

// joined writes each of a list with a separator between.
func joined[T any](list []T, separator string, text func(T) string) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = text(v)
	}
	return strings.Join(words, separator)
}

func idText(id int32) string { return strconv.Itoa(int(id)) }

func idList(ids []int32) string { return joined(ids, ",", idText) }

// plannedPartition is where a partition shall be.
type plannedPartition struct {
	topicPartition
	Replicas []int32
}

// reassignment is a plan, in the order of its file.
type reassignment struct {
	partitions []plannedPartition
	dirs       map[partitionReplica]string // only where one is named
}

// jsonObject is a JSON object whose fields are read as Kafka's tools read them.
type jsonObject map[string]json.RawMessage

func parseObject(data []byte) (jsonObject, error) {
	var o jsonObject
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&o); err != nil { // what comes after it does not count
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, thrown(classAdminOperation, "%s", err)
		}
		return nil, thrown(classJSONMapping, "Expected JSON object, received %s", compactJSON(data))
	}
	return o, nil
}

func compactJSON(data []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return string(data)
	}
	return b.String()
}

// field reads a field that must be there.
func field[T any](o jsonObject, name, kind string, read func(json.RawMessage) (T, bool)) (v T, err error) {
	raw, ok := o[name]
	if !ok {
		return v, thrown(classJSONMapping, "No such field exists: `%s`", name)
	}
	if v, ok = read(raw); !ok {
		return v, thrown(classJSONMapping, "Expected `%s` value, received %s", kind, compactJSON(raw))
	}
	return v, nil
}

func readAs[T any](raw json.RawMessage) (v T, ok bool) {
	if string(raw) == "null" {
		return v, false
	}
	return v, json.Unmarshal(raw, &v) == nil
}

// version is the file's format, which must be the only one.
func (o jsonObject) version() error {
	if _, ok := o["version"]; !ok {
		return nil
	}
	v, err := field(o, "version", "Integer", readAs[int])
	if err == nil && v != 1 {
		err = thrown(classAdminOperation, "Not supported version field value %d", v)
	}
	return err
}

// objects are the objects of an array; none if it is missing.
func (o jsonObject) objects(name string) ([]jsonObject, error) {
	raw, ok := o[name]
	if !ok {
		return nil, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil, thrown(classJSONMapping, "Expected JSON array, received %s", compactJSON(raw))
	}
	objects := make([]jsonObject, len(list))
	for i, each := range list {
		var err error
		if objects[i], err = parseObject(each); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// parseReassignment reads a plan, without looking for what is in it twice.
func parseReassignment(data []byte) (*reassignment, error) {
	o, err := parseObject(data)
	if err == nil {
		err = o.version()
	}
	if err != nil {
		return nil, err
	}
	list, err := o.objects("partitions")
	plan := &reassignment{dirs: map[partitionReplica]string{}}
	for _, each := range list {
		if err = plan.add(each); err != nil {
			return nil, err
		}
	}
	return plan, err
}

func (r *reassignment) add(o jsonObject) error {
	topic, err1 := field(o, "topic", "String", readAs[string])
	partition, err2 := field(o, "partition", "Integer", readAs[int32])
	replicas, err3 := field(o, "replicas", "Integer", readAs[[]int32])
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return err
		}
	}
	p := plannedPartition{topicPartition{topic, partition}, replicas}
	if _, ok := o["log_dirs"]; ok {
		dirs, err := field(o, "log_dirs", "String", readAs[[]string])
		if err != nil {
			return err
		}
		if len(dirs) != len(replicas) {
			return thrown(classAdminFailed, "Size of replicas list %s is different from size of log dirs list [%s] for partition %s",
				"["+joined(replicas, ", ", idText)+"]", strings.Join(dirs, ", "), partitionText(p.topicPartition))
		}
		for i, dir := range dirs {
			if dir != anyLogDir {
				r.dirs[partitionReplica{p.topicPartition, replicas[i]}] = dir
			}
		}
	}
	r.partitions = append(r.partitions, p)
	return nil
}

// duplicates are the values that a list has more than once, in the order in which they come again.
func duplicates[T comparable](list []T) (twice []T) {
	seen := map[T]bool{}
	for _, v := range list {
		if seen[v] && !slices.Contains(twice, v) {
			twice = append(twice, v)
		}
		seen[v] = true
	}
	return twice
}

func (r *reassignment) tps() []topicPartition {
	tps := make([]topicPartition, len(r.partitions))
	for i, p := range r.partitions {
		tps[i] = p.topicPartition
	}
	return tps
}

// sortedTPs are the plan's partitions by topic and number.
func (r *reassignment) sortedTPs() []topicPartition {
	tps := r.tps()
	slices.SortFunc(tps, compareTopicPartitions)
	return tps
}

// topics are the plan's topics in the order of a HashSet.
func (r *reassignment) topics() []string {
	var names []string
	for _, p := range r.partitions {
		if !slices.Contains(names, p.Topic) {
			names = append(names, p.Topic)
		}
	}
	return javaStringOrder(names)
}

// check refuses a plan that cannot be meant so.
func (r *reassignment) check() error {
	if len(r.partitions) == 0 {
		return thrown(classAdminFailed, "Partition reassignment list cannot be empty")
	}
	for _, p := range r.partitions {
		if len(p.Replicas) == 0 {
			return thrown(classAdminFailed, "Partition replica list cannot be empty")
		}
	}
	if twice := duplicates(r.tps()); len(twice) > 0 {
		return thrown(classAdminFailed, "Partition reassignment contains duplicate topic partitions: %s", joined(twice, ",", partitionText))
	}
	var bad []string
	for _, p := range r.partitions {
		if twice := duplicates(p.Replicas); len(twice) > 0 {
			bad = append(bad, fmt.Sprintf("%s contains multiple entries for %s", partitionText(p.topicPartition), idList(twice)))
		}
	}
	if len(bad) > 0 {
		return thrown(classAdminFailed, "Partition replica lists may not contain duplicate entries: %s", strings.Join(bad, ". "))
	}
	return nil
}

// parseGenerate reads what --generate was given: brokers and topics.
func parseGenerate(data []byte, brokerList string) (brokers []int32, topics []string, err error) {
	for _, word := range strings.Split(brokerList, ",") {
		id, err := strconv.ParseInt(word, 10, 32)
		if err != nil {
			return nil, nil, thrown("java.lang.NumberFormatException", "For input string: %q", word)
		}
		brokers = append(brokers, int32(id))
	}
	if twice := duplicates(brokers); len(twice) > 0 {
		return nil, nil, thrown(classAdminFailed, "Broker list contains duplicate entries: [%s]", joined(twice, ", ", idText))
	}
	if !json.Valid(data) {
		return nil, nil, thrown(classAdminOperation, "The input string is not a valid JSON")
	}
	o, err := parseObject(data)
	if err == nil {
		err = o.version()
	}
	if err != nil {
		return nil, nil, err
	}
	list, err := o.objects("topics")
	for _, each := range list {
		topic, err := field(each, "topic", "String", readAs[string])
		if err != nil {
			return nil, nil, err
		}
		topics = append(topics, topic)
	}
	if twice := duplicates(topics); len(twice) > 0 {
		return nil, nil, thrown(classAdminFailed, "List of topics to reassign contains duplicate entries: [%s]", strings.Join(twice, ", "))
	}
	return brokers, topics, err
}

// reassignmentJSON writes where partitions are as a plan; a replica whose directory is not known gets any.
func reassignmentJSON(replicas map[topicPartition][]int32, dirs map[partitionReplica]string) string {
	tps := make([]topicPartition, 0, len(replicas))
	for tp := range replicas {
		tps = append(tps, tp)
	}
	slices.SortFunc(tps, compareTopicPartitions)
	b := []byte(`{"version":1,"partitions":[`)
	for i, tp := range tps {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONString(append(b, `{"topic":`...), tp.Topic)
		b = fmt.Appendf(b, `,"partition":%d,"replicas":[%s],"log_dirs":[`, tp.Partition, idList(replicas[tp]))
		for j, id := range replicas[tp] {
			if j > 0 {
				b = append(b, ',')
			}
			dir, ok := dirs[partitionReplica{tp, id}]
			if !ok {
				dir = anyLogDir
			}
			b = appendJSONString(b, dir)
		}
		b = append(b, ']', '}')
	}
	return string(append(b, ']', '}'))
}

// partitionMove is a partition on its way: where it is read from and where it goes to.
type partitionMove struct{ sources, destinations []int32 }

// moving is a reassignment that the cluster is at.
type moving struct{ replicas, adding, removing []int32 }

func without(list, not []int32) (rest []int32) {
	for _, v := range list {
		if !slices.Contains(not, v) {
			rest = append(rest, v)
		}
	}
	return rest
}

// moveMap joins what is moving with what a plan will move.
func moveMap(current map[topicPartition]moving, plan []plannedPartition, replicas map[topicPartition][]int32) map[topicPartition]partitionMove {
	moves := map[topicPartition]partitionMove{}
	for tp, m := range current {
		moves[tp] = partitionMove{without(m.replicas, m.adding), m.adding}
	}
	for _, p := range plan {
		sources := replicas[p.topicPartition]
		if m, ok := moves[p.topicPartition]; ok {
			sources = m.sources
		}
		moves[p.topicPartition] = partitionMove{sources, without(p.Replicas, sources)}
	}
	return moves
}

// throttledReplicas are the settings that name the replicas to throttle, by topic: sources for leaders, destinations for followers.
func throttledReplicas(moves map[topicPartition]partitionMove) (leaders, followers map[string]string) {
	of := func(ids func(partitionMove) []int32) map[string]string {
		words := map[string][]string{}
		for tp, m := range moves {
			words[tp.Topic] = append(words[tp.Topic], []string{}...)
			for _, id := range ids(m) {
				words[tp.Topic] = append(words[tp.Topic], fmt.Sprintf("%d:%d", tp.Partition, id))
			}
		}
		texts := map[string]string{}
		for topic, list := range words {
			slices.Sort(list)
			texts[topic] = strings.Join(slices.Compact(list), ",")
		}
		return texts
	}
	return of(func(m partitionMove) []int32 { return m.sources }), of(func(m partitionMove) []int32 { return without(m.destinations, m.sources) })
}

// movingBrokers are all brokers of moves, ascending.
func movingBrokers(moves map[topicPartition]partitionMove) (ids []int32) {
	for _, m := range moves {
		ids = append(append(ids, m.sources...), m.destinations...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// usableBroker is a broker that --generate may use.
type usableBroker struct {
	id   int32
	rack string
}

// placeReplicas spreads partitions over brokers: leaders go round the brokers, followers follow them through other racks first. start says
// where the round begins.
func placeReplicas(brokers []usableBroker, partitions, factor, start int) ([][]int32, error) {
	switch {
	case len(brokers) == 0:
		return nil, thrown(errorsPackage+"InvalidReplicationFactorException", "All brokers are currently fenced, or have all their log directories cordoned.")
	case factor > len(brokers):
		return nil, thrown(errorsPackage+"InvalidReplicationFactorException",
			"The target replication factor of %d cannot be reached because only %d broker(s) are registered.", factor, len(brokers))
	}
	order := stripe(brokers)
	placed := make([][]int32, partitions)
	for i := range placed {
		var replicas []int32
		var racks []string
		// First one replica per rack, then whoever is left.
		for _, again := range []bool{false, true} {
			for j := range order {
				b := order[(start+i+j)%len(order)]
				if len(replicas) < factor && !slices.Contains(replicas, b.id) && (again || !slices.Contains(racks, b.rack)) {
					replicas, racks = append(replicas, b.id), append(racks, b.rack)
				}
			}
		}
		placed[i] = replicas
	}
	return placed, nil
}

// stripe orders brokers so that neighbours are in different racks as long as there are such.
func stripe(brokers []usableBroker) (order []usableBroker) {
	byRack := map[string][]usableBroker{}
	var racks []string
	for _, b := range brokers {
		if _, ok := byRack[b.rack]; !ok {
			racks = append(racks, b.rack)
		}
		byRack[b.rack] = append(byRack[b.rack], b)
	}
	slices.Sort(racks)
	for len(order) < len(brokers) {
		for _, rack := range racks {
			if list := byRack[rack]; len(list) > 0 {
				order, byRack[rack] = append(order, list[0]), list[1:]
			}
		}
	}
	return order
}
