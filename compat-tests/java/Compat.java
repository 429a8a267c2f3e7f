// Tests a broker with Apache Kafka's own Java clients. BOOTSTRAP and CORPUS as for the Go tests; arguments narrow the cases.
// Prints "PASS name" or "FAIL name: why" for each case and "N passed, N failed" at the end. Run: java -cp 'KAFKA_LIBS/*' Compat.java

import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.*;

public class Compat {
    static final String BOOTSTRAP = Objects.requireNonNull(System.getenv("BOOTSTRAP"), "set BOOTSTRAP to the broker's address");
    static final Path CORPUS = Path.of(Objects.requireNonNull(System.getenv("CORPUS"), "set CORPUS to a folder filled by scripts/corpus"));
    static final Duration LIMIT = Duration.ofSeconds(60);
    static final String MAX_MESSAGE = "12000000";

    interface Case { void run() throws Exception; }

    static Admin admin;

    static Map<String, Object> common() {
        return new HashMap<>(Map.of("bootstrap.servers", BOOTSTRAP, "request.timeout.ms", 20000, "default.api.timeout.ms", 30000));
    }

    static Producer<byte[], byte[]> producer(Object... kv) {
        Map<String, Object> m = common();
        m.put("max.request.size", 12 << 20);
        m.put("delivery.timeout.ms", 40000);
        m.put("buffer.memory", 128L << 20);
        for (int i = 0; i < kv.length; i += 2) m.put((String) kv[i], kv[i + 1]);
        return new KafkaProducer<>(m, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static Consumer<byte[], byte[]> consumer(Object... kv) {
        Map<String, Object> m = common();
        m.put("auto.offset.reset", "none");
        m.put("enable.auto.commit", false);
        for (int i = 0; i < kv.length; i += 2) m.put((String) kv[i], kv[i + 1]);
        return new KafkaConsumer<>(m, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    static String topic(String what, int partitions, Map<String, String> configs) throws Exception {
        String name = "compat-java-" + what + "-" + Long.toHexString(ThreadLocalRandom.current().nextLong());
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1).configs(configs))).all().get();
        return name;
    }

    static List<RecordMetadata> produce(Producer<byte[], byte[]> p, List<ProducerRecord<byte[], byte[]>> records) throws Exception {
        List<Future<RecordMetadata>> fs = new ArrayList<>();
        for (var r : records) fs.add(p.send(r));
        p.flush();
        List<RecordMetadata> out = new ArrayList<>();
        for (var f : fs) out.add(f.get());
        return out;
    }

    static List<ConsumerRecord<byte[], byte[]>> consume(String topic, int partition, long from, int n, Object... kv) {
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        try (var c = consumer(kv)) {
            var tp = new TopicPartition(topic, partition);
            c.assign(List.of(tp));
            c.seek(tp, from);
            long end = System.nanoTime() + LIMIT.toNanos();
            while (got.size() < n && System.nanoTime() < end) c.poll(Duration.ofMillis(500)).forEach(got::add);
        }
        eq("number of records", got.size(), n);
        return got;
    }

    static void eq(String what, Object got, Object want) {
        if (!Objects.deepEquals(got, want)) throw new AssertionError(what + ": got " + got + ", want " + want);
    }

    static void same(String what, byte[] got, byte[] want) {
        int at = Arrays.mismatch(got, want);
        if (at >= 0) throw new AssertionError(what + " differs at byte " + at + ": got " + got.length + " bytes, want " + want.length);
    }

    static void fails(String what, Class<?> want, Callable<?> call) throws Exception {
        Throwable got = null;
        try { call.call(); } catch (ExecutionException e) { got = e.getCause(); } catch (Exception e) { got = e; }
        if (!want.isInstance(got)) throw new AssertionError(what + ": got " + got + ", want " + want.getSimpleName());
    }

    static byte[] bytes(String s) { return s.getBytes(StandardCharsets.UTF_8); }

    static List<ProducerRecord<byte[], byte[]>> series(String topic, int partition, int n, long time) {
        List<ProducerRecord<byte[], byte[]>> rs = new ArrayList<>();
        for (int i = 0; i < n; i++) rs.add(new ProducerRecord<>(topic, partition, time + i, bytes("k" + i), bytes(topic + i + " kaja".repeat(i % 50))));
        return rs;
    }

    static void codec(String codec) throws Exception {
        String t = topic("codec", 2, Map.of());
        var want = series(t, 1, 2000, 1_700_000_000_000L);
        for (var r : want) r.headers().add("i", r.key());
        try (var p = producer("compression.type", codec, "linger.ms", 5)) {
            var meta = produce(p, want);
            eq("last offset", meta.get(1999).offset(), 1999L);
        }
        int i = 0;
        for (var r : consume(t, 1, 0, 2000)) {
            same("value " + i, r.value(), want.get(i).value());
            same("key " + i, r.key(), want.get(i).key());
            same("header " + i, r.headers().lastHeader("i").value(), want.get(i).key());
            eq("offset", r.offset(), (long) i);
            eq("timestamp", r.timestamp(), want.get(i).timestamp());
            i++;
        }
    }

    static void acks(String acks, boolean idempotent) throws Exception {
        String t = topic("acks", 1, Map.of());
        var want = series(t, 0, 1000, 1_700_000_000_000L);
        try (var p = producer("acks", acks, "enable.idempotence", idempotent, "batch.size", 2000)) { produce(p, want); }
        int i = 0;
        for (var r : consume(t, 0, 0, 1000)) same("value " + i, r.value(), want.get(i++).value());
    }

    static void nulls() throws Exception {
        String t = topic("nulls", 1, Map.of());
        var last = new ProducerRecord<>(t, 0, (byte[]) null, bytes("v"));
        last.headers().add("a", null).add("a", bytes("2")).add("", new byte[0]);
        try (var p = producer()) {
            produce(p, List.of(new ProducerRecord<>(t, 0, null, null), new ProducerRecord<>(t, 0, new byte[0], new byte[0]), new ProducerRecord<>(t, 0, bytes("k"), null), last));
        }
        var got = consume(t, 0, 0, 4);
        eq("null key", got.get(0).key(), null);
        eq("null value", got.get(0).value(), null);
        eq("empty key", got.get(1).key().length, 0);
        eq("empty value", got.get(1).value().length, 0);
        eq("tombstone", got.get(2).value(), null);
        Header[] hs = got.get(3).headers().toArray();
        eq("headers", hs.length, 3);
        eq("null header", hs[0].value(), null);
        same("second header", hs[1].value(), bytes("2"));
        eq("empty header name", hs[2].key(), "");
    }

    static void text() throws Exception {
        String t = topic("text", 1, Map.of());
        byte[] text = Files.readAllBytes(CORPUS.resolve("text.txt"));
        List<ProducerRecord<byte[], byte[]>> rs = new ArrayList<>();
        for (int from = 0; from < text.length; ) {
            int to = from;
            while (text[to] != '\n') to++;
            rs.add(new ProducerRecord<>(t, 0, null, Arrays.copyOfRange(text, from, to)));
            from = to + 1;
        }
        if (rs.size() < 100_000) throw new AssertionError("the text has only " + rs.size() + " lines");
        try (var p = producer("compression.type", "zstd", "linger.ms", 10, "batch.size", 200_000)) { produce(p, rs); }
        var out = new java.io.ByteArrayOutputStream();
        for (var r : consume(t, 0, 0, rs.size())) { out.write(r.value()); out.write('\n'); }
        same("text", out.toByteArray(), text);
    }

    static void binaries() throws Exception {
        String t = topic("binary", 1, Map.of("max.message.bytes", MAX_MESSAGE));
        String[] files = {"1B.bin", "100kB.bin", "1MB.bin", "5MB.bin", "10MB.bin"};
        try (var p = producer()) {
            for (String f : files) produce(p, List.of(new ProducerRecord<>(t, 0, bytes(f), Files.readAllBytes(CORPUS.resolve(f)))));
        }
        int i = 0;
        for (var r : consume(t, 0, 0, files.length)) same(files[i], r.value(), Files.readAllBytes(CORPUS.resolve(files[i++])));
    }

    static void offsets() throws Exception {
        String t = topic("offsets", 1, Map.of());
        var tp = new TopicPartition(t, 0);
        long base = System.currentTimeMillis() - 3_600_000;
        try (var p = producer("batch.size", 300)) { produce(p, series(t, 0, 100, base)); }
        try (var c = consumer()) {
            eq("beginning", c.beginningOffsets(List.of(tp)).get(tp), 0L);
            eq("end", c.endOffsets(List.of(tp)).get(tp), 100L);
            var at = c.offsetsForTimes(Map.of(tp, base + 42)).get(tp);
            eq("offset of a time", at.offset(), 42L);
            eq("its timestamp", at.timestamp(), base + 42);
            eq("a time past the end", c.offsetsForTimes(Map.of(tp, base + 1000)).get(tp), null);
        }
        var l = admin.listOffsets(Map.of(tp, OffsetSpec.maxTimestamp())).partitionResult(tp).get();
        eq("max timestamp", l.offset(), 99L);
        for (var spec : List.of(OffsetSpec.earliest(), OffsetSpec.earliestLocal())) eq("earliest", admin.listOffsets(Map.of(tp, spec)).partitionResult(tp).get().offset(), 0L);
        fails("seek past the end", org.apache.kafka.clients.consumer.OffsetOutOfRangeException.class, () -> consume(t, 0, 101, 1));
        try (var c = consumer("auto.offset.reset", "latest")) {
            c.assign(List.of(tp));
            c.seek(tp, 500);
            c.poll(Duration.ofSeconds(2));
            eq("position after a reset", c.position(tp), 100L);
        }
    }

    static void topics() throws Exception {
        String t = topic("topics", 2, Map.of("retention.ms", "7200000"));
        var d = admin.describeTopics(List.of(t)).allTopicNames().get().get(t);
        eq("partitions", d.partitions().size(), 2);
        eq("by id", admin.describeTopics(TopicCollection.ofTopicIds(List.of(d.topicId()))).allTopicIds().get().get(d.topicId()).name(), t);
        fails("create twice", TopicExistsException.class, () -> admin.createTopics(List.of(new NewTopic(t, 1, (short) 1))).all().get());
        fails("bad name", InvalidTopicException.class, () -> admin.createTopics(List.of(new NewTopic("a/b", 1, (short) 1))).all().get());
        fails("too many replicas", InvalidReplicationFactorException.class, () -> admin.createTopics(List.of(new NewTopic(t + "x", 1, (short) 5))).all().get());
        fails("bad config", InvalidConfigurationException.class, () -> admin.createTopics(List.of(new NewTopic(t + "x", 1, (short) 1).configs(Map.of("retention.ms", "x")))).all().get());
        admin.createPartitions(Map.of(t, NewPartitions.increaseTo(4))).all().get();
        eq("grown", admin.describeTopics(List.of(t)).allTopicNames().get().get(t).partitions().size(), 4);
        fails("shrink", InvalidPartitionsException.class, () -> admin.createPartitions(Map.of(t, NewPartitions.increaseTo(1))).all().get());
        var created = admin.createTopics(List.of(new NewTopic(t + "d", Optional.empty(), Optional.empty())));
        eq("default partitions", created.numPartitions(t + "d").get(), 1);
        eq("default replication", created.replicationFactor(t + "d").get(), 1);
        if (!admin.listTopics().names().get().contains(t)) throw new AssertionError("not listed");
        admin.deleteTopics(TopicCollection.ofTopicIds(List.of(d.topicId()))).all().get();
        fails("describe the deleted", UnknownTopicOrPartitionException.class, () -> admin.describeTopics(List.of(t)).allTopicNames().get());
        fails("delete twice", UnknownTopicOrPartitionException.class, () -> admin.deleteTopics(List.of(t)).all().get());
        admin.deleteTopics(List.of(t + "d")).all().get();
    }

    static ConfigEntry config(ConfigResource r, String key) throws Exception { return admin.describeConfigs(List.of(r)).all().get().get(r).get(key); }

    static void configs() throws Exception {
        String t = topic("configs", 1, Map.of("retention.ms", "7200000"));
        var r = new ConfigResource(ConfigResource.Type.TOPIC, t);
        eq("retention", config(r, "retention.ms").value(), "7200000");
        eq("source", config(r, "retention.ms").source(), ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG);
        eq("type", config(r, "retention.ms").type(), ConfigEntry.ConfigType.LONG);
        admin.incrementalAlterConfigs(Map.of(r, List.of(
            new AlterConfigOp(new ConfigEntry("retention.ms", ""), AlterConfigOp.OpType.DELETE),
            new AlterConfigOp(new ConfigEntry("max.message.bytes", "1000"), AlterConfigOp.OpType.SET)))).all().get();
        eq("retention", config(r, "retention.ms").value(), "604800000");
        eq("source", config(r, "retention.ms").source(), ConfigEntry.ConfigSource.DEFAULT_CONFIG);
        fails("bad value", InvalidConfigurationException.class, () -> admin.incrementalAlterConfigs(Map.of(r, List.of(new AlterConfigOp(new ConfigEntry("cleanup.policy", "shred"), AlterConfigOp.OpType.SET)))).all().get());
        try (var p = producer()) { fails("1000 bytes are allowed", RecordTooLargeException.class, () -> p.send(new ProducerRecord<>(t, 0, null, new byte[2000])).get()); }
        int id = admin.describeCluster().controller().get().id();
        int node = admin.describeCluster().nodes().get().iterator().next().id();
        var b = new ConfigResource(ConfigResource.Type.BROKER, "" + node);
        eq("controller", id, node);
        eq("node.id", config(b, "node.id").value(), "" + node);
        eq("read only", config(b, "node.id").isReadOnly(), true);
        fails("a static config", InvalidRequestException.class, () -> admin.incrementalAlterConfigs(Map.of(b, List.of(new AlterConfigOp(new ConfigEntry("log.dirs", "/x"), AlterConfigOp.OpType.SET)))).all().get());
    }

    static void deleteRecords() throws Exception {
        String t = topic("delete", 1, Map.of());
        var tp = new TopicPartition(t, 0);
        try (var p = producer()) { produce(p, series(t, 0, 50, System.currentTimeMillis())); }
        eq("low watermark", admin.deleteRecords(Map.of(tp, RecordsToDelete.beforeOffset(30))).lowWatermarks().get(tp).get().lowWatermark(), 30L);
        eq("first left", consume(t, 0, 30, 20).get(0).offset(), 30L);
        fails("what was deleted", org.apache.kafka.clients.consumer.OffsetOutOfRangeException.class, () -> consume(t, 0, 29, 1));
        fails("past the end", org.apache.kafka.common.errors.OffsetOutOfRangeException.class, () -> admin.deleteRecords(Map.of(tp, RecordsToDelete.beforeOffset(51))).all().get());
        fails("no such partition", Exception.class, () -> admin.deleteRecords(Map.of(new TopicPartition(t, 9), RecordsToDelete.beforeOffset(0)), new DeleteRecordsOptions().timeoutMs(3000)).all().get());
    }

    static void cluster() throws Exception {
        var c = admin.describeCluster();
        if (c.clusterId().get().length() != 22) throw new AssertionError("cluster id " + c.clusterId().get());
        var f = admin.describeFeatures().featureMetadata().get();
        if (!f.finalizedFeatures().containsKey("metadata.version")) throw new AssertionError("features " + f);
        int node = c.nodes().get().iterator().next().id();
        var dirs = admin.describeLogDirs(List.of(node)).allDescriptions().get().get(node);
        eq("log dirs", dirs.size(), 1);
        var q = admin.describeMetadataQuorum().quorumInfo().get();
        eq("quorum leader", q.leaderId(), node);
    }

    static void producers() throws Exception {
        String t = topic("producers", 1, Map.of());
        var tp = new TopicPartition(t, 0);
        try (var p = producer()) { produce(p, series(t, 0, 5, System.currentTimeMillis())); }
        var s = admin.describeProducers(List.of(tp)).partitionResult(tp).get().activeProducers();
        eq("producers", s.size(), 1);
        eq("last sequence", s.get(0).lastSequence(), 4);
    }

    public static void main(String[] only) throws Exception {
        Map<String, Case> cases = new LinkedHashMap<>();
        for (String c : List.of("none", "gzip", "snappy", "lz4", "zstd")) cases.put("codec-" + c, () -> codec(c));
        for (String a : List.of("0", "1", "all")) cases.put("acks-" + a, () -> acks(a, false));
        cases.put("acks-idempotent", () -> acks("all", true));
        cases.put("nulls", Compat::nulls);
        cases.put("text", Compat::text);
        cases.put("binaries", Compat::binaries);
        cases.put("offsets", Compat::offsets);
        cases.put("topics", Compat::topics);
        cases.put("configs", Compat::configs);
        cases.put("delete-records", Compat::deleteRecords);
        cases.put("cluster", Compat::cluster);
        cases.put("producers", Compat::producers);
        if (only.length > 0) cases.keySet().retainAll(Set.of(only));
        int passed = 0, failed = 0;
        admin = Admin.create(common());
        for (var c : cases.entrySet()) {
            try {
                c.getValue().run();
                System.out.println("PASS " + c.getKey());
                passed++;
            } catch (Throwable e) {
                System.out.println("FAIL " + c.getKey() + ": " + e);
                if (!(e instanceof AssertionError)) e.printStackTrace(System.out);
                failed++;
            }
        }
        admin.close();
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 && passed > 0 ? 0 : 1);
    }
}
