package tool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func metadataQuorumTool() Tool {
	return Tool{"kafka-metadata-quorum", "show the metadata quorum, add and remove controllers", runMetadataQuorum}
}

func newQuorumParser() *argParser {
	p := newArgParser("kafka-metadata-quorum", "This tool describes kraft metadata quorum status.")
	p.defaultHelp = true
	to := p.exclusive(true)
	to.arg("--bootstrap-server").withHelp("A comma-separated list of host:port pairs to use for establishing the connection to the Kafka cluster.")
	to.arg("--bootstrap-controller").withHelp("A comma-separated list of host:port pairs to use for establishing the connection to the Kafka controllers.")
	p.arg("--command-config").withHelp("Property file containing configs to be passed to Admin Client. For add-controller, the file is used to specify the " +
		"controller properties as well.")
	describe := p.addCommand("command", "describe", "Describe the metadata quorum info")
	status := describe.addGroup("Status", "")
	status.arg("--status").does(argStoreTrue).withHelp("A short summary of the quorum status and the other provides detailed information about the status of replication.")
	replication := describe.addGroup("Replication", "")
	replication.arg("--replication").does(argStoreTrue).withHelp("Detailed information about the status of replication")
	replication.arg("--human-readable").does(argStoreTrue).withHelp("Human-readable output")
	const dryRun = "True if we should print what would be done, but not do it."
	add := p.addCommand("command", "add-controller", "Add a controller to the KRaft controller cluster")
	add.arg("--dry-run").does(argStoreTrue).withHelp(dryRun)
	remove := p.addCommand("command", "remove-controller", "Remove a controller from the KRaft controller cluster")
	remove.arg("--controller-id", "-i").ofType("Integer").isRequired().withHelp("The id of the controller to remove.")
	remove.arg("--controller-directory-id", "-d").isRequired().withHelp("The directory ID of the controller to remove.")
	remove.arg("--dry-run").does(argStoreTrue).withHelp(dryRun)
	remove.arg("--unregister").does(argStoreTrue).withHelp("If set, also unregister the controller after successfully removing it from the voter set.")
	return p
}

func runMetadataQuorum(ctx context.Context, e *Env) int {
	p := newQuorumParser()
	v, err := p.parse(e.Args)
	if err != nil {
		return p.fail(e, err)
	}
	return e.tersely(runQuorumCommand(ctx, e, v))
}

func runQuorumCommand(ctx context.Context, e *Env, v *argValues) error {
	file := v.text("command_config")
	if file != "" {
		if _, err := e.FS.Stat(file); err != nil {
			return terse("Properties file %s does not exist.", file)
		}
	}
	props, err := e.loadProperties(file)
	if err != nil {
		return err
	}
	own := clientProperties{}
	for k, value := range props {
		own[k] = value
	}
	if err := bootstrapProperties(props, v.text("bootstrap_server"), v.text("bootstrap_controller")); err != nil {
		return err
	}
	c, err := e.connectAdmin(props)
	if err != nil {
		return err
	}
	defer c.Close()
	switch v.text("command") {
	case "describe":
		return describeQuorum(ctx, e, c, v)
	case "add-controller":
		if file == "" {
			return terse("You must supply the configuration file of the controller you are adding when using add-controller.")
		}
		return addController(ctx, e, c, own, v.has("dry_run"))
	}
	return removeController(ctx, e, c, v)
}

// quorum is the state of the metadata quorum.
type quorum struct {
	kmsg.DescribeQuorumResponseTopicPartition
	nodes []kmsg.DescribeQuorumResponseNode
}

func (c *cluster) quorum(ctx context.Context, e *Env) (*quorum, error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	resp, err := c.callLeader(ctx, e, "describeMetadataQuorum", req)
	if err != nil {
		return nil, err
	}
	r := resp.(*kmsg.DescribeQuorumResponse)
	if err := exceptionOf(r.ErrorCode, r.ErrorMessage); err != nil {
		return nil, err
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return nil, thrown(errorsPackage+"UnknownServerException", "DescribeMetadataQuorum received %d topics when 1 was expected", len(r.Topics))
	}
	p := r.Topics[0].Partitions[0]
	return &quorum{p, r.Nodes}, exceptionOf(p.ErrorCode, p.ErrorMessage)
}

func (q *quorum) leader() kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
	for _, v := range q.CurrentVoters {
		if v.ReplicaID == q.LeaderID {
			return v
		}
	}
	return kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
}

func describeQuorum(ctx context.Context, e *Env, c *cluster, v *argValues) error {
	status, replication := v.has("status"), v.has("replication")
	switch {
	case status && replication:
		return terse("Only one of --status or --replication should be specified with describe sub-command")
	case status && v.has("human_readable"):
		return terse("The option --human-readable is only supported along with --replication")
	case !status && !replication:
		return terse("One of --status or --replication must be specified with describe sub-command")
	}
	id := ""
	if status {
		d, err := c.nodesOf(ctx, false)
		if err != nil {
			return wrapped(classExecution, err)
		}
		id = d.ClusterID
	}
	q, err := c.quorum(ctx, e)
	if err != nil {
		return wrapped(classExecution, err)
	}
	if status {
		e.printf("%s", q.status(id))
		return nil
	}
	return q.printReplication(e, v.has("human_readable"))
}

// status is the summary of the quorum.
func (q *quorum) status(clusterID string) string {
	leader, slowest := q.leader(), q.leader()
	for i, v := range q.CurrentVoters {
		if i == 0 || v.LogEndOffset < slowest.LogEndOffset {
			slowest = v
		}
	}
	behind := int64(0)
	if slowest.ReplicaID != leader.ReplicaID {
		behind = -1
		if leader.LastCaughtUpTimestamp >= 0 && slowest.LastCaughtUpTimestamp >= 0 {
			behind = leader.LastCaughtUpTimestamp - slowest.LastCaughtUpTimestamp
		}
	}
	return fmt.Sprintf("ClusterId:              %s\nLeaderId:               %d\nLeaderEpoch:            %d\nHighWatermark:          %d\nMaxFollowerLag:         %d\n"+
		"MaxFollowerLagTimeMs:   %d\nCurrentVoters:          %s\nCurrentObservers:       %s\n", clusterID, q.LeaderID, q.LeaderEpoch, q.HighWatermark,
		leader.LogEndOffset-slowest.LogEndOffset, behind, q.replicas(q.CurrentVoters), q.replicas(q.Observers))
}

// replicas lists nodes of the quorum with what is known of them.
func (q *quorum) replicas(states []kmsg.DescribeQuorumResponseTopicPartitionReplicaState) string {
	var out []string
	for _, s := range states {
		text := `{"id": ` + strconv.Itoa(int(s.ReplicaID))
		if s.ReplicaDirectoryID != ([16]byte{}) {
			text += `, "directoryId": "` + uuidText(s.ReplicaDirectoryID) + `"`
		}
		var endpoints []string
		for _, n := range q.nodes {
			for _, l := range n.Listeners {
				if n.NodeID == s.ReplicaID {
					endpoints = append(endpoints, fmt.Sprintf("%q", l.Name+"://"+net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port)))))
				}
			}
		}
		if len(endpoints) > 0 {
			text += `, "endpoints": [` + strings.Join(endpoints, ", ") + `]`
		}
		out = append(out, text+"}")
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func (q *quorum) printReplication(e *Env, human bool) error {
	leader := q.leader()
	var rows [][]string
	var failed error
	add := func(s kmsg.DescribeQuorumResponseTopicPartitionReplicaState, kind string) {
		fetched, err1 := whenText(e, s.LastFetchTimestamp, "last fetch", human)
		caughtUp, err2 := whenText(e, s.LastCaughtUpTimestamp, "last caught up", human)
		failed = first(failed, err1, err2)
		rows = append(rows, []string{strconv.Itoa(int(s.ReplicaID)), uuidText(s.ReplicaDirectoryID), strconv.FormatInt(s.LogEndOffset, 10),
			strconv.FormatInt(leader.LogEndOffset-s.LogEndOffset, 10), fetched, caughtUp, kind})
	}
	add(leader, "Leader")
	for _, v := range q.CurrentVoters {
		if v.ReplicaID != q.LeaderID {
			add(v, "Follower")
		}
	}
	for _, o := range q.Observers {
		add(o, "Observer")
	}
	if failed == nil {
		e.printTable([]string{"NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status"}, rows)
	}
	return failed
}

// whenText is a time in milliseconds, or how long ago it was.
func whenText(e *Env, at int64, what string, human bool) (string, error) {
	if at < 0 {
		return "-1", nil
	}
	if !human {
		return strconv.FormatInt(at, 10), nil
	}
	now := e.Clock.Wall().UnixMilli()
	if at == 0 || at > now {
		return "", thrown(classKafka, "Error while computing relative time, possible drift in system clock.\nCurrent timestamp is %d, %s timestamp is %d", now, what, at)
	}
	return strconv.FormatInt(now-at, 10) + " ms ago", nil
}

func removeController(ctx context.Context, e *Env, c *cluster, v *argValues) error {
	id := v.number("controller_id")
	if id < 0 {
		return terse("Invalid negative --controller-id: %d", id)
	}
	dir, err := parseUUID(v.text("controller_directory_id"))
	if err != nil {
		return terse("Failed to parse --controller-directory-id: %s", javaMessage(err))
	}
	if v.has("dry_run") {
		e.printf("DRY RUN of removing KRaft controller %d with directory id %s\n", id, uuidText(dir))
		return nil
	}
	req := kmsg.NewPtrRemoveRaftVoterRequest()
	req.VoterID, req.VoterDirectoryID = int32(id), dir
	resp, err := c.callLeader(ctx, e, "removeRaftVoter", req)
	if err == nil {
		r := resp.(*kmsg.RemoveRaftVoterResponse)
		err = exceptionOf(r.ErrorCode, r.ErrorMessage)
	}
	if err != nil {
		return wrapped(classExecution, err)
	}
	e.printf("Removed KRaft controller %d with directory id %s\n", id, uuidText(dir))
	if v.has("unregister") {
		return unregisterController(ctx, e, c, int32(id))
	}
	return nil
}

// newController is the controller that a configuration describes.
type newController struct {
	id        int32
	dir       [16]byte
	listeners []kmsg.AddRaftVoterRequestListener
}

const notController = " Is this a valid controller configuration file?"

func parseController(e *Env, p clientProperties) (n newController, err error) {
	text, ok := p["node.id"]
	if !ok {
		return n, terse("node.id not found in configuration file.%s", notController)
	}
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return n, thrown(classNumberFormat, "%s", javaNumberError(text))
	}
	if n.id = int32(id); n.id < 0 {
		return n, terse("node.id was negative in configuration file.%s", notController)
	}
	if !strings.Contains(p["process.roles"], "controller") {
		return n, terse("process.roles did not contain 'controller' in configuration file.%s", notController)
	}
	dir := p["metadata.log.dir"]
	if dir == "" {
		dir, _, _ = strings.Cut(p["log.dirs"], ",")
	}
	if dir = strings.TrimSpace(dir); dir == "" {
		return n, terse("Neither metadata.log.dir nor log.dirs were found.%s", notController)
	}
	if n.dir, err = directoryID(e, dir); err != nil {
		return n, err
	}
	n.listeners, err = controllerEndpoints(p)
	return n, err
}

// directoryID reads the id of a data directory.
func directoryID(e *Env, dir string) (id [16]byte, err error) {
	data, err := e.FS.ReadFile(path.Join(dir, "meta.properties"))
	if err != nil {
		return id, terse("Unable to read meta.properties from %s", dir)
	}
	meta, err := javaProperties(data)
	if err != nil {
		return id, err
	}
	if meta["directory.id"] == "" {
		return id, terse("No directory id found in %s", dir)
	}
	return parseUUID(meta["directory.id"])
}

// controllerEndpoints are the addresses at which a controller is reached: advertised ones before those it listens at.
func controllerEndpoints(p clientProperties) ([]kmsg.AddRaftVoterRequestListener, error) {
	names, ok := p["controller.listener.names"]
	if !ok {
		return nil, terse("controller.listener.names was not found.%s", notController)
	}
	byName := map[string]kmsg.AddRaftVoterRequestListener{}
	for _, list := range []string{p["listeners"], p["advertised.listeners"]} {
		for _, each := range nonEmpty(list) {
			name, rest, _ := strings.Cut(strings.TrimSpace(each), "://")
			i := strings.LastIndexByte(rest, ':')
			if i < 0 {
				return nil, errors.New("unable to parse " + each)
			}
			port, err := strconv.ParseUint(rest[i+1:], 10, 16)
			if err != nil {
				return nil, thrown(classNumberFormat, "%s", javaNumberError(rest[i+1:]))
			}
			l := kmsg.NewAddRaftVoterRequestListener()
			l.Name, l.Host, l.Port = name, strings.Trim(rest[:i], "[]"), uint16(port)
			if l.Host == "" {
				l.Host = "localhost"
			}
			byName[name] = l
		}
	}
	var out []kmsg.AddRaftVoterRequestListener
	for _, name := range nonEmpty(names) {
		l, ok := byName[strings.TrimSpace(name)]
		if !ok {
			return nil, terse("Cannot find information about controller listener name: %s", name)
		}
		out = append(out, l)
	}
	return out, nil
}

func addController(ctx context.Context, e *Env, c *cluster, own clientProperties, dryRun bool) error {
	n, err := parseController(e, own)
	if err != nil {
		return err
	}
	verb := "DRY RUN of adding"
	if !dryRun {
		verb = "Added"
		req := kmsg.NewPtrAddRaftVoterRequest()
		req.TimeoutMillis = int32(c.timeout.Milliseconds())
		req.VoterID, req.VoterDirectoryID, req.Listeners = n.id, n.dir, n.listeners
		resp, err := c.callLeader(ctx, e, "addRaftVoter", req)
		if err == nil {
			r := resp.(*kmsg.AddRaftVoterResponse)
			err = exceptionOf(r.ErrorCode, r.ErrorMessage)
		}
		if err != nil {
			return wrapped(classExecution, err)
		}
	}
	var endpoints []string
	for _, l := range n.listeners {
		endpoints = append(endpoints, l.Name+"://"+net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port))))
	}
	e.printf("%s controller %d with directory id %s and endpoints: %s\n", verb, n.id, uuidText(n.dir), strings.Join(endpoints, ", "))
	return nil
}
