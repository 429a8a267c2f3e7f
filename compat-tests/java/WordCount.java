// Counts words exactly once: WordCount BOOTSTRAP IN OUT APPLICATION DIR TIMEOUT-MS. Every new count is a record of OUT, so that a word counted twice or not at all can be seen.
// It runs until it is ended, and ends by itself when Streams gives up; who started it starts it again.

import java.util.*;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.Stores;

public class WordCount {
    public static void main(String[] a) {
        var builder = new StreamsBuilder();
        var strings = Serdes.String();
        builder.stream(a[1], Consumed.with(strings, strings))
            .flatMap((k, v) -> Arrays.stream(v.split(" ")).map(w -> KeyValue.pair(w, "")).toList())
            .groupByKey(Grouped.with("words", strings, strings))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts")).withKeySerde(strings).withValueSerde(Serdes.Long()))
            .toStream().mapValues(n -> n.toString()).to(a[2], Produced.with(strings, strings));
        var p = new Properties();
        p.putAll(Map.of("bootstrap.servers", a[0], "application.id", a[3], "state.dir", a[4], "processing.guarantee", "exactly_once_v2", "statestore.cache.max.bytes", 0,
            "num.stream.threads", 2, "replication.factor", 1, "producer.transaction.timeout.ms", Integer.parseInt(a[5]), "consumer.session.timeout.ms", 6000, "consumer.heartbeat.interval.ms", 1000));
        p.put("consumer.auto.offset.reset", "earliest");
        p.put("producer.linger.ms", 5);
        var streams = new KafkaStreams(builder.build(), p);
        streams.setUncaughtExceptionHandler(e -> {
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }
}
