package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Settings that throttle reassignments.
const (
	leaderRate       = "leader.replication.throttled.rate"
	followerRate     = "follower.replication.throttled.rate"
	logDirRate       = "replica.alter.log.dirs.io.max.bytes.per.second"
	leaderReplicas   = "leader.replication.throttled.replicas"
	followerReplicas = "follower.replication.throttled.replicas"
)

// reassigner does what kafka-reassign-partitions was asked.
type reassigner struct {
	e   *Env
	adm reassignAdmin
}

// terseError is told without its class.
type terseError struct{ message string }

func (t *terseError) Error() string { return t.message }

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func (r *reassigner) list(ctx context.Context) error {
	current, err := r.adm.moving(ctx)
	if err != nil {
		return err
	}
	if len(current) == 0 {
		r.e.println("No partition reassignments found.")
		return nil
	}
	tps := make([]topicPartition, 0, len(current))
	for tp := range current {
		tps = append(tps, tp)
	}
	slices.SortFunc(tps, compareTopicPartitions)
	r.e.println("Current partition reassignments:")
	for _, tp := range tps {
		m := current[tp]
		line := fmt.Sprintf("%s: replicas: %s.", partitionText(tp), idList(m.replicas))
		if len(m.adding) > 0 {
			line += fmt.Sprintf(" adding: %s.", idList(m.adding))
		}
		if len(m.removing) > 0 {
			line += fmt.Sprintf(" removing: %s.", idList(m.removing))
		}
		r.e.println(line)
	}
	return nil
}

func (r *reassigner) generate(ctx context.Context, data []byte, brokerList string, rackAware bool) error {
	ids, topics, err := parseGenerate(data, brokerList)
	if err != nil {
		return err
	}
	current, err := r.adm.known(ctx, topics)
	if err != nil {
		return err
	}
	dirs, err := r.currentDirs(ctx, current)
	if err != nil {
		return err
	}
	brokers, err := r.usable(ctx, ids, rackAware)
	if err != nil {
		return err
	}
	proposed := map[topicPartition][]int32{}
	for _, topic := range topics {
		partitions := 0
		for current[topicPartition{topic, int32(partitions)}] != nil {
			partitions++
		}
		placed, err := placeReplicas(brokers, partitions, len(current[topicPartition{topic, 0}]), int(r.e.Clock.Wall().UnixNano()%1000))
		if err != nil {
			return err
		}
		for i, replicas := range placed {
			proposed[topicPartition{topic, int32(i)}] = replicas
		}
	}
	r.e.printf("Current partition replica assignment\n%s\n\n", reassignmentJSON(current, dirs))
	r.e.printf("Proposed partition reassignment configuration\n%s\n", reassignmentJSON(proposed, nil))
	return nil
}

// usable are those of the brokers named that are there.
func (r *reassigner) usable(ctx context.Context, ids []int32, rackAware bool) ([]usableBroker, error) {
	all, err := r.adm.brokers(ctx)
	if err != nil {
		return nil, err
	}
	var list []usableBroker
	rackless := 0
	for _, b := range all {
		if !slices.Contains(ids, b.id) {
			continue
		}
		if !rackAware {
			b.rack = ""
		}
		if b.rack == "" {
			rackless++
		}
		list = append(list, b)
	}
	if rackAware && rackless != 0 && rackless != len(list) {
		return nil, thrown(classAdminOperation, "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica assignment without rack information.")
	}
	return list, nil
}

// currentDirs are the directories of all replicas whose brokers are there.
func (r *reassigner) currentDirs(ctx context.Context, replicas map[topicPartition][]int32) (map[partitionReplica]string, error) {
	brokers, err := r.adm.brokers(ctx)
	if err != nil {
		return nil, err
	}
	var ask []partitionReplica
	for tp, ids := range replicas {
		for _, id := range ids {
			if slices.ContainsFunc(brokers, func(b usableBroker) bool { return b.id == id }) {
				ask = append(ask, partitionReplica{tp, id})
			}
		}
	}
	found, err := r.adm.dirs(ctx, ask)
	dirs := map[partitionReplica]string{}
	for replica, d := range found {
		if d.current != "" {
			dirs[replica] = d.current
		}
	}
	return dirs, err
}

// throttles are bytes per second, negative for none.
type throttles struct{ interBroker, logDirs int64 }

// executeOptions are those of --execute.
type executeOptions struct {
	additional, keepFactor bool
	throttles
	timeout time.Duration
}

func (r *reassigner) execute(ctx context.Context, data []byte, o executeOptions) error {
	plan, err := parseReassignment(data)
	if err == nil {
		err = plan.check()
	}
	if err != nil {
		return err
	}
	current, err := r.adm.moving(ctx)
	if err != nil {
		return err
	}
	if !o.additional && len(current) > 0 {
		return &terseError{"Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a new partition assignment " +
			"in addition to the existing one. The --additional flag can also be used to change the throttle by resubmitting the current reassignment."}
	}
	replicas, err := r.checkPlan(ctx, plan)
	if err != nil {
		return err
	}
	dirs, err := r.currentDirs(ctx, replicas)
	if err != nil {
		return err
	}
	r.e.printf("Current partition replica assignment\n\n%s\n\nSave this to use as the --reassignment-json-file option during rollback\n", reassignmentJSON(replicas, dirs))
	if err := r.throttle(ctx, plan, o.throttles, moveMap(current, plan.partitions, replicas)); err != nil {
		return err
	}
	failed, err := r.adm.alter(ctx, plan.partitions, o.keepFactor)
	if err != nil {
		return err
	}
	if len(failed) > 0 {
		return &terseError{"Error reassigning partition(s):\n" + failures(failed)}
	}
	r.e.printf("Successfully started partition reassignment%s for %s\n", plural(len(plan.partitions)), joined(plan.sortedTPs(), ",", partitionText))
	if len(plan.dirs) == 0 {
		return nil
	}
	return r.move(ctx, plan.dirs, o.timeout)
}

// checkPlan sees to it that brokers and partitions of a plan are there, and says where the partitions are.
func (r *reassigner) checkPlan(ctx context.Context, plan *reassignment) (map[topicPartition][]int32, error) {
	brokers, err := r.adm.brokers(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range plan.partitions {
		for _, id := range p.Replicas {
			if !slices.ContainsFunc(brokers, func(b usableBroker) bool { return b.id == id }) {
				return nil, thrown(classAdminFailed, "Unknown broker id %d", id)
			}
		}
	}
	all, err := r.adm.known(ctx, plan.topics())
	if err != nil {
		return nil, err
	}
	replicas := map[topicPartition][]int32{}
	var missing []topicPartition
	for _, tp := range plan.tps() {
		ids, ok := all[tp]
		if !ok {
			missing = append(missing, tp)
			continue
		}
		replicas[tp] = ids
	}
	if len(missing) > 0 {
		return nil, executed(thrown(errorsPackage+"UnknownTopicOrPartitionException", "Unable to find partition: %s", joined(javaPartitionOrder(missing), ", ", partitionText)))
	}
	return replicas, nil
}

func failures(failed map[topicPartition]error) string {
	tps := make([]topicPartition, 0, len(failed))
	for tp := range failed {
		tps = append(tps, tp)
	}
	slices.SortFunc(tps, compareTopicPartitions)
	return joined(tps, "\n", func(tp topicPartition) string { return partitionText(tp) + ": " + failed[tp].Error() })
}

func (r *reassigner) throttle(ctx context.Context, plan *reassignment, t throttles, moves map[topicPartition]partitionMove) error {
	if t.interBroker < 0 && t.logDirs < 0 {
		return nil
	}
	r.e.println("Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed.")
	if t.interBroker >= 0 {
		topics := map[string][]configChange{}
		leaders, followers := throttledReplicas(moves)
		for topic := range leaders {
			l, f := leaders[topic], followers[topic]
			topics[topic] = []configChange{{leaderReplicas, &l}, {followerReplicas, &f}}
		}
		if err := r.adm.alterConfigs(ctx, kmsg.ConfigResourceTypeTopic, topics); err != nil {
			return err
		}
		rate := strconv.FormatInt(t.interBroker, 10)
		if err := r.brokerConfigs(ctx, movingBrokers(moves), []configChange{{leaderRate, &rate}, {followerRate, &rate}}); err != nil {
			return err
		}
		r.e.printf("The inter-broker throttle limit was set to %d B/s\n", t.interBroker)
	}
	if t.logDirs >= 0 {
		rate := strconv.FormatInt(t.logDirs, 10)
		var ids []int32
		for replica := range plan.dirs {
			ids = append(ids, replica.Broker)
		}
		if err := r.brokerConfigs(ctx, ids, []configChange{{logDirRate, &rate}}); err != nil {
			return err
		}
		r.e.printf("The replica-alter-dir throttle limit was set to %d B/s\n", t.logDirs)
	}
	return nil
}

func (r *reassigner) brokerConfigs(ctx context.Context, ids []int32, changes []configChange) error {
	brokers := map[string][]configChange{}
	for _, id := range ids {
		brokers[idText(id)] = changes
	}
	return r.adm.alterConfigs(ctx, kmsg.ConfigResourceTypeBroker, brokers)
}

// moveRetry is how long to wait for a replica that its broker does not have yet.
const moveRetry = 100 * time.Millisecond

// move asks for replicas to be moved until all brokers have begun.
func (r *reassigner) move(ctx context.Context, dirs map[partitionReplica]string, timeout time.Duration) error {
	pending := map[partitionReplica]string{}
	for replica, dir := range dirs {
		pending[replica] = dir
	}
	for end := r.e.Clock.Mono().Add(timeout); ; {
		done, err := r.adm.moveDirs(ctx, pending)
		if err != nil {
			return err
		}
		for _, replica := range done {
			r.e.printf("Successfully started moving log directory to %s for replica %s-%d with broker %d \n", pending[replica], replica.Topic, replica.Partition, replica.Broker)
			delete(pending, replica)
		}
		if len(pending) == 0 {
			return nil
		}
		if !r.e.Clock.Mono().Before(end) {
			left := make([]partitionReplica, 0, len(pending))
			for replica := range pending {
				left = append(left, replica)
			}
			slices.SortFunc(left, compareReplicas)
			return &terseError{fmt.Sprintf("Timed out before log directory move%s could be started for: %s", plural(len(left)), joined(left, ",", partitionReplica.String))}
		}
		if err := r.e.pause(ctx, moveRetry); err != nil {
			return err
		}
	}
}

func (r *reassigner) verify(ctx context.Context, data []byte, keepThrottles bool) error {
	plan, err := parseReassignment(data)
	if err != nil {
		return err
	}
	ongoing, err := r.verifyPartitions(ctx, plan)
	if err != nil {
		return err
	}
	states, err := r.moveStates(ctx, plan.dirs)
	if err != nil {
		return err
	}
	r.e.println(joined(states, "\n", func(s moveState) string { return s.text }))
	for _, s := range states {
		ongoing = ongoing || s.active
	}
	if ongoing || keepThrottles {
		return nil
	}
	return r.clearThrottles(ctx, plan)
}

// verifyPartitions tells how far the partitions of a plan are; ongoing says whether any reassignment is, be it in the plan or not.
func (r *reassigner) verifyPartitions(ctx context.Context, plan *reassignment) (ongoing bool, err error) {
	current, err := r.adm.moving(ctx)
	if err != nil {
		return false, err
	}
	var topics []string
	targets := map[topicPartition][]int32{}
	for _, p := range plan.partitions {
		targets[p.topicPartition] = p.Replicas
		if _, ok := current[p.topicPartition]; !ok && !slices.Contains(topics, p.Topic) {
			topics = append(topics, p.Topic)
		}
	}
	replicas, _, err := r.adm.replicas(ctx, topics)
	if err != nil {
		return false, err
	}
	r.e.println("Status of partition reassignment:")
	for _, tp := range slices.Compact(plan.sortedTPs()) {
		_, active := current[tp]
		switch target := targets[tp]; {
		case active:
			r.e.printf("Reassignment of partition %s is still in progress.\n", partitionText(tp))
		case slices.Equal(replicas[tp], target):
			r.e.printf("Reassignment of partition %s is completed.\n", partitionText(tp))
		default:
			r.e.printf("There is no active reassignment of partition %s, but replica set is %s rather than %s.\n", partitionText(tp), idList(replicas[tp]), idList(target))
		}
	}
	return len(current) > 0, nil
}

// moveState is how far the move of a replica to a directory is.
type moveState struct {
	replica partitionReplica
	current string
	active  bool
	text    string
}

func (r *reassigner) moveStates(ctx context.Context, dirs map[partitionReplica]string) ([]moveState, error) {
	replicas := make([]partitionReplica, 0, len(dirs))
	for replica := range dirs {
		replicas = append(replicas, replica)
	}
	slices.SortFunc(replicas, compareReplicas)
	found, err := r.adm.dirs(ctx, replicas)
	if err != nil {
		return nil, err
	}
	states := make([]moveState, len(replicas))
	for i, replica := range replicas {
		d, ok := found[replica]
		states[i] = moveState{replica: replica, current: d.current, active: d.future != "", text: moveText(replica, d, ok, dirs[replica])}
	}
	return states, nil
}

func moveText(r partitionReplica, d replicaDirs, known bool, target string) string {
	tp := partitionText(r.topicPartition)
	switch {
	case !known:
		return fmt.Sprintf("Partition %s cannot be found in any live log directory on broker %d.", tp, r.Broker)
	case d.current == "":
		return fmt.Sprintf("Partition %s is not found in any live log dir on broker %d. There is likely an offline log directory on the broker.", tp, r.Broker)
	case d.future == target:
		return fmt.Sprintf("Reassignment of replica %s is still in progress.", r)
	case d.future != "":
		return fmt.Sprintf("Partition %s on broker %d is being moved to log dir %s instead of %s.", tp, r.Broker, d.future, target)
	case d.current == target:
		return fmt.Sprintf("Reassignment of replica %s completed successfully.", r)
	}
	return fmt.Sprintf("Partition %s on broker %d is not being moved from log dir %s to %s.", tp, r.Broker, d.current, target)
}

// clearThrottles takes all throttles off the cluster's brokers and the plan's topics.
func (r *reassigner) clearThrottles(ctx context.Context, plan *reassignment) error {
	brokers, err := r.adm.brokers(ctx)
	if err != nil {
		return err
	}
	var ids []int32
	for _, b := range brokers {
		ids = append(ids, b.id)
	}
	for _, p := range plan.partitions {
		ids = append(ids, p.Replicas...)
	}
	slices.Sort(ids)
	ids = javaMapOrder(slices.Compact(ids), func(id int32) int32 { return id })
	r.e.printf("Clearing broker-level throttles on broker%s %s\n", plural(len(ids)), idList(ids))
	if err := r.brokerConfigs(ctx, ids, []configChange{{leaderRate, nil}, {followerRate, nil}, {logDirRate, nil}}); err != nil {
		return err
	}
	topics := plan.topics()
	r.e.printf("Clearing topic-level throttles on topic%s %s\n", plural(len(topics)), strings.Join(topics, ","))
	changes := map[string][]configChange{}
	for _, topic := range topics {
		changes[topic] = []configChange{{leaderReplicas, nil}, {followerReplicas, nil}}
	}
	return r.adm.alterConfigs(ctx, kmsg.ConfigResourceTypeTopic, changes)
}

func (r *reassigner) cancel(ctx context.Context, data []byte, keepThrottles bool, timeout time.Duration) error {
	plan, err := parseReassignment(data)
	if err != nil {
		return err
	}
	if err := r.cancelPartitions(ctx, plan); err != nil {
		return err
	}
	states, err := r.moveStates(ctx, plan.dirs)
	if err != nil {
		return err
	}
	back := map[partitionReplica]string{}
	for _, s := range states {
		if s.active {
			back[s.replica] = s.current
		}
	}
	if len(back) == 0 {
		r.e.printf("None of the specified partition moves are active.") // without an end of line, as Kafka's
	} else if err := r.move(ctx, back, timeout); err != nil {
		return err
	}
	if keepThrottles {
		return nil
	}
	return r.clearThrottles(ctx, plan)
}

func (r *reassigner) cancelPartitions(ctx context.Context, plan *reassignment) error {
	current, err := r.adm.moving(ctx)
	if err != nil {
		return err
	}
	var active []plannedPartition
	for _, tp := range slices.Compact(plan.sortedTPs()) {
		if m, ok := current[tp]; ok && (len(m.adding) > 0 || len(m.removing) > 0) {
			active = append(active, plannedPartition{topicPartition: tp})
		}
	}
	if len(active) == 0 {
		r.e.println("None of the specified partition reassignments are active.")
		return nil
	}
	failed, err := r.adm.alter(ctx, active, false)
	if err != nil {
		return err
	}
	if len(failed) > 0 {
		return &terseError{fmt.Sprintf("Error cancelling partition reassignment%s for:\n%s", plural(len(failed)), failures(failed))}
	}
	r.e.printf("Successfully cancelled partition reassignment%s for: %s\n", plural(len(active)),
		joined(active, ",", func(p plannedPartition) string { return partitionText(p.topicPartition) }))
	return nil
}

// tell prints what ended the tool; the lines of a stack trace are left out.
func (r *reassigner) tell(err error) int {
	if err == nil {
		return 0
	}
	var terse *terseError
	if errors.As(err, &terse) {
		r.e.println(terse.message)
	} else {
		r.e.printf("Error: %s\n%s\n\n", err.Error(), javaToString(err))
	}
	return 1
}
