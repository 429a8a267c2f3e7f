package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func featuresTool() Tool {
	return Tool{"kafka-features", "show and change the features of a cluster", runFeatures}
}

func newFeaturesParser() *argParser {
	p := newArgParser("kafka-features", "This tool manages feature flags in Kafka.")
	p.defaultHelp = true
	to := p.exclusive(false)
	to.arg("--bootstrap-server").withHelp("A comma-separated list of host:port pairs to use for establishing the connection to the Kafka cluster.")
	to.arg("--bootstrap-controller").withHelp("A comma-separated list of host:port pairs to use for establishing the connection to the KRaft quorum.")
	p.arg("--command-config").withHelp("Property file containing configs to be passed to Admin Client.")
	describe := p.addCommand("command", "describe", "Describes the current active feature flags.")
	describe.arg("--node-id").ofType("Integer").withHelp("The node id to which the requests should be sent. If not specified, the requests will be sent to an arbitrary " +
		"controller/broker.")
	for _, op := range [][3]string{{"upgrade", "Upgrade", "3.3-IV3"}, {"downgrade", "Downgrade", "3.3-IV0"}} {
		c := p.addCommand("command", op[0], op[1]+" one or more feature flags.")
		c.arg("--metadata").withHelp("DEPRECATED -- The level to which we should " + op[0] + " the metadata. For example, " + op[2] + ".")
		to := "The release version to update all features to."
		if op[0] == "downgrade" {
			to = "The release version to downgrade all features to."
		}
		c.arg("--release-version").withHelp(to + " For example, 3.9-IV0 will set metadata.version=21 and kraft.version=1. Use the version-mapping command to learn " +
			"which features will be set for any given version.")
		c.arg("--feature").does(argAppend).withHelp("A feature " + op[0] + " we should perform, in feature=level format. For example: `metadata.version=5`.")
		if op[0] == "downgrade" {
			c.arg("--unsafe").does(argStoreTrue).withHelp("Perform this downgrade even if it may irreversibly destroy metadata.")
		}
		c.arg("--dry-run").does(argStoreTrue).withHelp("Validate this " + op[0] + ", but do not perform it.")
	}
	disable := p.addCommand("command", "disable", "Disable one or more feature flags. This is the same as downgrading the version to zero.")
	disable.arg("--feature").does(argAppend).withHelp("A feature flag to disable.")
	disable.arg("--unsafe").does(argStoreTrue).withHelp("Disable this feature flag even if it may irreversibly destroy metadata.")
	disable.arg("--dry-run").does(argStoreTrue).withHelp("Perform a dry-run of this disable operation.")
	mapping := p.addCommand("command", "version-mapping", "Look up the corresponding features for a given metadata version. Using the command with no "+
		"--release-version  argument will return the mapping for the latest stable metadata version")
	oldest, _ := releaseOf(int64(minMetadataLevel))
	latest, _ := releaseOf(int64(latestMetadataLevel))
	mapping.arg("--release-version").withHelp("The release version to use for the corresponding feature mapping. The minimum is " + oldest.name + "; the default is " + latest.name)
	depends := p.addCommand("command", "feature-dependencies", "Look up dependencies for a given feature version. If the feature is not known or the version not yet "+
		"defined, an error is thrown. Multiple features can be specified.")
	depends.arg("--feature").isRequired().does(argAppend).withHelp("The feature and version to look up dependencies for, in feature=version format. For example: " +
		"`metadata.version=5`.")
	return p
}

func runFeatures(ctx context.Context, e *Env) int {
	p := newFeaturesParser()
	v, err := p.parse(e.Args)
	var help errHelp
	if errors.As(err, &help) {
		return p.fail(e, err)
	}
	if err == nil {
		err = runFeaturesCommand(ctx, e, v)
	}
	var wrong *argError
	var short *terseError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &wrong) || isWrongUse(err):
		e.errorf("Command line error: %s. Type --help for help.\n", err)
	case errors.As(err, &short):
		e.errorf("%s\n", err)
	default:
		e.errorf("%s\n", javaMessage(err))
	}
	return 1
}

func runFeaturesCommand(ctx context.Context, e *Env, v *argValues) error {
	switch v.text("command") {
	case "version-mapping":
		return e.versionMapping(v.text("release_version"))
	case "feature-dependencies":
		return printDependencies(e, v.list("feature"))
	}
	props, err := e.loadProperties(v.text("command_config"))
	if err != nil {
		return err
	}
	if err := bootstrapProperties(props, v.text("bootstrap_server"), v.text("bootstrap_controller")); err != nil {
		return err
	}
	c, err := e.connectAdmin(props)
	if err != nil {
		return err
	}
	defer c.Close()
	if v.text("command") == "describe" {
		return describeFeatures(ctx, e, c, v)
	}
	updates, err := parseUpdates(e, v)
	if err != nil {
		return err
	}
	return updateFeatures(ctx, e, c, v, updates)
}

// parseFeatureLevel reads feature=level.
func parseFeatureLevel(text string) (string, int16, error) {
	name, level, ok := strings.Cut(text, "=")
	if !ok {
		return "", 0, thrown(classRuntime, "Can't parse feature=level string %s: equals sign not found.", text)
	}
	level = strings.TrimSpace(level)
	n, err := strconv.ParseInt(level, 10, 16)
	if err != nil {
		return "", 0, thrown(classRuntime, "Can't parse feature=level string %s: unable to parse %s as a short.", text, level)
	}
	return strings.TrimSpace(name), int16(n), nil
}

// printDependencies prints what levels of features need of other features.
func printDependencies(e *Env, features []string) error {
	for _, text := range features {
		name, level, err := parseFeatureLevel(text)
		if err != nil {
			return err
		}
		if name == metadataFeature {
			r, ok := releaseOf(int64(level))
			if !ok {
				return terse("Unknown metadata.version %d", level)
			}
			e.printf("%s=%d (%s) has no dependencies.\n", name, level, r.name)
			continue
		}
		f, known := featureNamed(name)
		switch {
		case !known:
			return terse("Unknown feature: %s", name)
		case level < 0 || level > f.top:
			return thrown(classIllegalArgument, "No feature:%s with feature level %d", name, level)
		case name == "eligible.leader.replicas.version" && level == 1:
			e.printf("%s=%d requires:\n    metadata.version=23 (4.0-IV1)\n", name, level)
		default:
			e.printf("%s=%d has no dependencies.\n", name, level)
		}
	}
	return nil
}

// levelText is a level of a feature; those of metadata.version have names.
func levelText(feature string, level int16) string {
	if feature != metadataFeature {
		return strconv.Itoa(int(level))
	}
	if r, ok := releaseOf(int64(level)); ok {
		return r.name
	}
	return "UNKNOWN " + strconv.Itoa(int(level))
}

func describeFeatures(ctx context.Context, e *Env, c *cluster, v *argValues) error {
	var resp kmsg.Response
	var err error
	switch {
	case v.has("node_id"):
		id := v.number("node_id")
		if id < 0 {
			return thrown(classIllegalArgument, "Invalid node id %d: must be non-negative.", id)
		}
		resp, err = c.askNodeID(ctx, e, int32(id), apiVersionsRequest())
	default:
		ctx, cancel := c.deadline(ctx)
		defer cancel()
		resp, err = c.askSeed(ctx, apiVersionsRequest())
	}
	if err != nil {
		return wrapped(classExecution, callError(err, "describeFeatures"))
	}
	r := resp.(*kmsg.ApiVersionsResponse)
	if err := exceptionOf(r.ErrorCode, nil); err != nil {
		return wrapped(classExecution, err)
	}
	levels := map[string]int16{}
	for _, f := range r.FinalizedFeatures {
		levels[f.Name] = f.MaxVersionLevel
	}
	epoch := "-"
	if r.FinalizedFeaturesEpoch >= 0 {
		epoch = strconv.FormatInt(r.FinalizedFeaturesEpoch, 10)
	}
	slices.SortFunc(r.SupportedFeatures, func(a, b kmsg.ApiVersionsResponseSupportedFeature) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range r.SupportedFeatures {
		e.printf("Feature: %-40s  SupportedMinVersion: %-15s  SupportedMaxVersion: %-15s  FinalizedVersionLevel: %-15s  Epoch: %s\n", f.Name,
			levelText(f.Name, f.MinVersion), levelText(f.Name, f.MaxVersion), levelText(f.Name, levels[f.Name]), epoch)
	}
	return nil
}

// askNodeID asks one node of the cluster.
func (c *cluster) askNodeID(ctx context.Context, e *Env, id int32, req kmsg.Request) (kmsg.Response, error) {
	d, err := c.nodesOf(ctx, false)
	if err != nil {
		return nil, err
	}
	for _, b := range d.Brokers {
		if b.NodeID == id {
			ctx, cancel := c.deadline(ctx)
			defer cancel()
			return e.askNode(ctx, c.props, node{b.NodeID, b.Host, b.Port, b.Rack}.address(), req)
		}
	}
	return nil, thrown(classTimeout, "Timed out waiting for a node assignment. Call: describeFeatures")
}

// Kinds of changes of features.
const (
	featureUpgrade         = 1
	featureSafeDowngrade   = 2
	featureUnsafeDowngrade = 3
)

// updateType is the kind of change that the command asks for.
func updateType(v *argValues) int8 {
	switch {
	case v.text("command") == "upgrade":
		return featureUpgrade
	case v.has("unsafe"):
		return featureUnsafeDowngrade
	}
	return featureSafeDowngrade
}

// parseUpdates are the levels that the command asks for, by feature.
func parseUpdates(e *Env, v *argValues) (map[string]int16, error) {
	updates := map[string]int16{}
	if v.text("command") == "disable" {
		for _, name := range v.list("feature") {
			if _, ok := updates[name]; ok {
				return nil, thrown(classRuntime, "Feature %s was specified more than once.", name)
			}
			updates[name] = 0
		}
		return updates, nil
	}
	if v.has("release_version") {
		if v.has("metadata") || v.has("feature") {
			return nil, terse("Can not specify `release-version` with other feature flags.")
		}
		r, err := parseRelease(v.text("release_version"), true)
		if err != nil {
			return nil, err
		}
		updates[metadataFeature] = r.level
		for _, f := range clusterFeatures() {
			if level := f.at(r.level); level > 0 || updateType(v) != featureUpgrade {
				updates[f.name] = level
			}
		}
		return updates, nil
	}
	if v.has("metadata") {
		e.println(" `metadata` flag is deprecated and may be removed in a future release.")
		r, err := parseRelease(v.text("metadata"), true)
		if err != nil {
			return nil, err
		}
		updates[metadataFeature] = r.level
	}
	for _, text := range v.list("feature") {
		name, level, err := parseFeatureLevel(text)
		if err != nil {
			return nil, err
		}
		if _, ok := updates[name]; ok {
			return nil, thrown(classRuntime, "Feature %s was specified more than once.", name)
		}
		updates[name] = level
	}
	return updates, nil
}

func updateFeatures(ctx context.Context, e *Env, c *cluster, v *argValues, updates map[string]int16) error {
	op, dry := v.text("command"), v.has("dry_run")
	if len(updates) == 0 {
		return terse("You must specify at least one feature to %s", op)
	}
	failures, err := c.updateFeatures(ctx, e, updates, updateType(v), dry)
	if err != nil {
		return err
	}
	failed := 0
	for _, name := range sortedKeys(updates) {
		err := failures[name]
		switch {
		case err != nil:
			failed++
			to := name
			if op != "disable" {
				to = fmt.Sprintf("%s to %d", name, updates[name])
			}
			could := "Could not"
			if dry {
				could = "Can not"
			}
			e.printf("%s %s %s. %s\n", could, op, to, javaMessage(err))
		default:
			verb, done := " was ", op+"d to "+strconv.Itoa(int(updates[name]))+"."
			if dry {
				verb = " can be "
			}
			if op == "disable" {
				done = "disabled."
			}
			e.println(name + verb + done)
		}
	}
	if failed > 0 {
		return terse("%d out of %d operation(s) failed.", failed, len(updates))
	}
	return nil
}

// updateFeatures asks for new levels; it returns what went wrong by feature.
func (c *cluster) updateFeatures(ctx context.Context, e *Env, updates map[string]int16, kind int8, dry bool) (map[string]error, error) {
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	req.ValidateOnly = dry
	for _, name := range javaStringOrder(sortedKeys(updates)) {
		u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		u.Feature, u.MaxVersionLevel, u.UpgradeType, u.AllowDowngrade = name, updates[name], kind, kind != featureUpgrade
		req.FeatureUpdates = append(req.FeatureUpdates, u)
	}
	failures := map[string]error{}
	everyone := func(err error) {
		for name := range updates {
			failures[name] = err
		}
	}
	resp, err := c.callLeader(ctx, e, "updateFeatures", req)
	if err != nil {
		everyone(err)
		return failures, nil
	}
	r := resp.(*kmsg.UpdateFeaturesResponse)
	if err := exceptionOf(r.ErrorCode, r.ErrorMessage); err != nil {
		everyone(err)
	}
	for _, each := range r.Results {
		if err := exceptionOf(each.ErrorCode, each.ErrorMessage); err != nil {
			failures[each.Feature] = err
		}
	}
	return failures, nil
}
