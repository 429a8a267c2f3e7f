package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kaja-mq/kaja/config"
)

func storageTool() Tool {
	return Tool{"kafka-storage", "Format data directories, and say what they are (not needed: the first start formats them)", runStorage}
}

func newStorageParser() *argParser {
	p := newArgParser("kafka-storage", "The Kafka storage tool.")
	latest, _ := releaseOf(int64(latestMetadataLevel))
	least, _ := releaseOf(int64(minMetadataLevel))
	info := p.addCommand("command", "info", "Get information about the Kafka log directories on this node.")
	info.arg("--config", "-c").isRequired().withHelp("The Kafka configuration file to use.")
	format := p.addCommand("command", "format", "Format the Kafka log directories on this node.")
	format.arg("--config", "-c").isRequired().withHelp("The Kafka configuration file to use.")
	format.arg("--cluster-id", "-t").isRequired().withHelp("The cluster ID to use.")
	format.arg("--add-scram", "-S").does(argAppend).withHelp("A SCRAM_CREDENTIAL to add to the __cluster_metadata log e.g.\n" +
		"'SCRAM-SHA-256=[name=alice,password=alice-secret]'\n'SCRAM-SHA-512=[name=alice,iterations=8192,salt=\"N3E=\",saltedpassword=\"YCE=\"]'")
	format.arg("--ignore-formatted", "-g").does(argStoreTrue).
		withHelp("When this option is passed, the format command will skip over already formatted directories rather than failing.")
	format.arg("--release-version", "-r").withHelp("The release version to use for the initial feature settings. The minimum is " + least.name +
		"; the default is " + latest.name + ". Note: formatted directories are not forward-compatible — the broker version must be greater than or equal to " +
		"the kafka-storage tool that formatted the directory, regardless of this setting.")
	format.arg("--feature", "-f").does(argAppend).withHelp("The setting to use for a specific feature, in feature=level format. For example: `kraft.version=1`.")
	one := format.exclusive(false)
	const instead = "the controller.quorum.voters config %s not be set, and controller.quorum.bootstrap.servers is set instead."
	one.arg("--standalone", "-s").does(argStoreTrue).withHelp("Used to initialize a controller as a single-node dynamic quorum. When setting this flag, " + fmt.Sprintf(instead, "must"))
	one.arg("--no-initial-controllers", "-N").does(argStoreTrue).
		withHelp("Used to initialize a server without specifying a dynamic quorum. When setting this flag, " + fmt.Sprintf(instead, "should"))
	one.arg("--initial-controllers", "-I").withHelp("Used to initialize a server with the specified dynamic quorum. The argument is a comma-separated list of " +
		"id@hostname:port:directory. The same values must be used to format all nodes. For example:\n" +
		"0@example.com:8082:JEXY6aqzQY-32P5TStzaFg,1@example.com:8083:MvDxzVmcRsaTz33bUuRU6A,2@example.com:8084:07R5amHmR32VDA6jHkGbTA\n. " +
		"When setting this flag, " + fmt.Sprintf(instead, "must"))
	mapping := p.addCommand("command", "version-mapping", "Look up the corresponding features for a given metadata version. "+
		"Using the command with no --release-version  argument will return the mapping for the latest stable metadata version")
	mapping.arg("--release-version", "-r").withHelp("The release version to use for the corresponding feature mapping. The minimum is " + least.name + "; the default is " + latest.name)
	needs := p.addCommand("command", "feature-dependencies", "Look up dependencies for a given feature version. "+
		"If the feature is not known or the version not yet defined, an error is thrown. Multiple features can be specified.")
	needs.arg("--feature", "-f").does(argAppend).isRequired().
		withHelp("The features and their versions to look up dependencies for, in feature=version format. For example: `metadata.version=5`.")
	p.addCommand("command", "random-uuid", "Print a random UUID.")
	return p
}

func runStorage(_ context.Context, e *Env) int {
	p := newStorageParser()
	args, err := p.parse(e.Args)
	if err != nil {
		return p.fail(e, err)
	}
	fine := true
	switch args.text("command") {
	case "info":
		var cfg *config.Static
		if cfg, err = e.loadConfig(args.text("config")); err == nil {
			fine, err = e.storageInfo(cfg)
		}
	case "format":
		err = e.format(args)
	case "version-mapping":
		err = e.versionMapping(args.text("release_version"))
	case "feature-dependencies":
		err = e.featureDependencies(args.list("feature"))
	case "random-uuid":
		e.println(randomUUID())
	}
	var terse *terseError
	switch {
	case errors.As(err, &terse):
		e.errorf("%s\n", terse.message)
		return 1
	case err != nil:
		return e.uncaught(err)
	case !fine:
		return 1
	}
	return 0
}

// format reads what format was asked, in the order in which Kafka finds fault.
func (e *Env) format(args *argValues) error {
	cfg, err := e.loadConfig(args.text("config"))
	if err != nil {
		return err
	}
	f := &storageFormatter{e: e, cfg: cfg, clusterID: args.text("cluster_id"), ignore: args.has("ignore_formatted")}
	f.release, _ = releaseOf(int64(latestMetadataLevel))
	if name := args.text("release_version"); name != "" {
		if f.release, err = parseRelease(name, false); err != nil {
			return err
		}
		f.custom = f.release.level != latestMetadataLevel
	}
	if err := f.features(args.list("feature"), args.has("release_version")); err != nil {
		return err
	}
	if err := f.quorum(args); err != nil {
		return err
	}
	for _, text := range args.list("add_scram") {
		r, err := parseScram(text)
		if err != nil {
			return err
		}
		f.scram, f.custom = append(f.scram, r), true
	}
	return f.run()
}

// features reads --feature; released tells whether --release-version was given.
func (f *storageFormatter) features(list []string, released bool) error {
	f.levels = map[string]int16{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return thrown(classRuntime, "Can't parse feature=level string %s: equals sign not found.", text)
		}
		level, err := strconv.ParseInt(strings.TrimSpace(value), 10, 16)
		if err != nil {
			return thrown(classRuntime, "Can't parse feature=level string %s: unable to parse %s as a short.", text, value)
		}
		f.levels[strings.TrimSpace(name)], f.custom = int16(level), true
	}
	if level, ok := f.levels[metadataFeature]; ok {
		r, known := releaseOf(int64(level))
		if !known {
			releases := metadataReleases()
			return thrown(classIllegalArgument, "No MetadataVersion with feature level %d. Valid feature levels are from %d to %d.", level, minMetadataLevel, releases[len(releases)-1].level)
		}
		if released {
			return &terseError{"Use --release-version instead of --feature metadata.version=X to avoid ambiguity."}
		}
		if r.level > latestMetadataLevel {
			return &terseError{"metadata.version " + r.name + " is not yet stable."}
		}
		f.release = r
		delete(f.levels, metadataFeature)
	}
	for name, level := range f.levels {
		feature, known := featureNamed(name)
		switch {
		case !known:
			names := joined(clusterFeatures(), ",", func(c clusterFeature) string { return c.name })
			sorted := strings.Split(names, ",")
			slices.Sort(sorted)
			return &terseError{fmt.Sprintf("Unsupported feature: %s. Supported features are: %s", name, strings.Join(sorted, ", "))}
		case level < 0 || level > feature.top:
			return thrown(classIllegalArgument, "No feature:%s with feature level %d", name, level)
		}
	}
	return nil
}

// quorum reads how the node finds its controllers.
func (f *storageFormatter) quorum(args *argValues) error {
	standalone, none, given := args.has("standalone"), args.has("no_initial_controllers"), args.text("initial_controllers")
	static := f.cfg.IsSet("controller.quorum.voters")
	if given != "" {
		if err := checkVoters(given); err != nil {
			return err
		}
	}
	switch {
	case static && (standalone || given != ""):
		return &terseError{"You cannot specify controller.quorum.voters and format the node with --initial-controllers or --standalone. " +
			"If you want to use dynamic quorum, please remove controller.quorum.voters and specify controller.quorum.bootstrap.servers instead."}
	case static && none:
		return &terseError{"You cannot specify controller.quorum.voters and set --no-initial-controllers. " +
			"If you want to use dynamic quorum, please remove controller.quorum.voters and specify controller.quorum.bootstrap.servers instead."}
	case !static && f.cfg.IsSet("controller.quorum.bootstrap.servers") && f.cfg.IsController() && !standalone && !none && given == "":
		return &terseError{"Because controller.quorum.voters is not set on this controller, you must specify one of the following: " +
			"--standalone, --initial-controllers, or --no-initial-controllers."}
	case strings.Contains(given, ","):
		return &terseError{"--initial-controllers with several controllers is not supported yet; use controller.quorum.voters"}
	}
	f.dynamic, f.voter = standalone || none || given != "", standalone || given != ""
	level, named := f.levels["kraft.version"]
	switch {
	case named && level > 0 && !f.dynamic:
		return &terseError{"Cannot set kraft.version to " + decimal(int32(level)) + " unless controller.quorum.voters is empty and one of the flags --standalone, " +
			"--initial-controllers, or --no-initial-controllers is used. For dynamic controllers support, try using one of --standalone, --initial-controllers, " +
			"or --no-initial-controllers and removing controller.quorum.voters."}
	case named && level == 0 && f.dynamic:
		return &terseError{"Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the flags --standalone, --initial-controllers, " +
			"or --no-initial-controllers is used. For dynamic controllers support, try removing the --feature flag for kraft.version."}
	}
	return nil
}

// checkVoters reads a list of id@host:port:directory.
func checkVoters(list string) error {
	for _, voter := range strings.Split(list, ",") {
		id, rest, ok := strings.Cut(voter, "@")
		if !ok {
			return thrown(classIllegalArgument, "No @ found in dynamic voter string.")
		}
		if n, err := strconv.ParseInt(id, 10, 32); err != nil || n < 0 {
			return thrown(classIllegalArgument, "Failed to parse node id in dynamic voter string.")
		}
		if strings.Count(rest, ":") < 2 {
			return thrown(classIllegalArgument, "No colon following hostname could be found.")
		}
	}
	return nil
}
