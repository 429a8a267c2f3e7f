package config

// crossCheck refuses what single values cannot show: Kafka's relations between properties, and what kaja lacks altogether.
func (l *loader) crossCheck(s *Static) error {
	for i := range brokerProperties {
		p := &brokerProperties[i]
		if v, ok := s.parsed[p.Name]; ok && p.Effect == Refused && v != p.Default {
			return refuse("%s=%s is refused: %s; remove it", p.Name, v, p.Note)
		}
	}
	if err := validateOverrides(s.Str("max.connections.per.ip.overrides")); err != nil {
		return refuse("max.connections.per.ip.overrides is not of the form address:count: %v", err)
	}
	return relations(s.Value)
}

// relations are the checks of KafkaConfig.validateValues that do not concern listeners, with Kafka's texts.
func relations(get func(string) (string, bool)) error {
	num := func(name string) int64 { return toInt(get(name)) }
	for _, name := range []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"} {
		if v, ok := get(name); ok && v == "0" {
			return refuse("log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
		}
	}
	switch {
	case num("log.cleaner.dedupe.buffer.size")/max(num("log.cleaner.threads"), 1) <= 1024*1024:
		return refuse("log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.")
	case num("replica.fetch.wait.max.ms") > num("replica.socket.timeout.ms"):
		return refuse("replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket timeouts")
	case num("replica.fetch.wait.max.ms") > num("replica.lag.time.max.ms"):
		return refuse("replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent changes in ISR")
	case num("broker.heartbeat.interval.ms")*2 > num("broker.session.timeout.ms"):
		return refuse("broker.session.timeout.ms must be at least twice broker.heartbeat.interval.ms, so that one lost heartbeat fences nobody")
	case num("group.min.session.timeout.ms") > num("group.max.session.timeout.ms"):
		return refuse("group.min.session.timeout.ms must not exceed group.max.session.timeout.ms")
	}
	if v, _ := get("max.connections.per.ip.overrides"); num("max.connections.per.ip") == 0 && v == "" {
		return refuse("max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.")
	}
	return nil
}
