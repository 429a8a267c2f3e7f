package config

// crossCheck refuses what single values cannot show: Kafka's relations between properties, and what kaja lacks altogether.
func (l *loader) crossCheck(s *Static) error {
	for i := range brokerProperties {
		p := &brokerProperties[i]
		if v, ok := s.parsed[p.Name]; ok && p.Effect == Refused && v != p.Default {
			return refuse("%s=%s is refused: %s; remove it", p.Name, v, p.Note)
		}
	}
	return relations(s.Value)
}

// relations are the checks of KafkaConfig.validateValues that do not concern listeners.
func relations(get func(string) (string, bool)) error {
	num := func(name string) int64 { return toInt(get(name)) }
	isNull := func(name string) bool { _, ok := get(name); return !ok }
	for _, name := range []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"} {
		if !isNull(name) && num(name) == 0 {
			return refuse("%s must be unlimited (-1) or, equal or greater than 1", name)
		}
	}
	for _, r := range []struct{ low, high, why string }{
		{"replica.fetch.wait.max.ms", "replica.socket.timeout.ms", "a follower's socket would time out while its fetch waits"},
		{"replica.fetch.wait.max.ms", "replica.lag.time.max.ms", "followers would leave the ISR while their fetch waits"},
		{"group.min.session.timeout.ms", "group.max.session.timeout.ms", "no session could have a valid length"},
	} {
		if num(r.low) > num(r.high) {
			return refuse("%s must not exceed %s: %s", r.low, r.high, r.why)
		}
	}
	if num("broker.heartbeat.interval.ms")*2 > num("broker.session.timeout.ms") {
		return refuse("broker.session.timeout.ms must be at least twice broker.heartbeat.interval.ms")
	}
	if num("log.cleaner.dedupe.buffer.size") <= 1024*1024*num("log.cleaner.threads") {
		return refuse("log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread")
	}
	return nil
}
