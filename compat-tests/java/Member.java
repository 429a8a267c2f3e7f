// The member of a consumer group by Kafka's own client: Member classic|consumer BOOTSTRAP TOPIC GROUP. It talks as groups/member says.

import java.time.*;
import java.time.temporal.ChronoUnit;
import java.util.*;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class Member {
    static volatile boolean closing;
    static final TreeSet<Integer> own = new TreeSet<>();

    static synchronized void say(String line) { System.out.println(line); System.out.flush(); }

    static long now() { return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()); }

    static void change(Collection<TopicPartition> minus, Collection<TopicPartition> plus) {
        for (var tp : minus) own.remove(tp.partition());
        for (var tp : plus) own.add(tp.partition());
        say("own " + own.stream().map(String::valueOf).collect(Collectors.joining(",")));
    }

    public static void main(String[] a) {
        Map<String, Object> m = new HashMap<>(Map.of("bootstrap.servers", a[1], "group.id", a[3], "group.protocol", a[0], "enable.auto.commit", false, "auto.offset.reset", "earliest", "fetch.max.wait.ms", 200, "max.poll.records", 20));
        if (a[0].equals("classic")) { m.put("session.timeout.ms", 6000); m.put("heartbeat.interval.ms", 1000); }
        var stdin = new Thread(() -> {
            var in = new Scanner(System.in);
            while (in.hasNextLine()) if (in.nextLine().equals("close")) closing = true;
            if (!closing) Runtime.getRuntime().halt(1);
        });
        stdin.setDaemon(true);
        stdin.start();
        try (var c = new KafkaConsumer<>(m, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            c.subscribe(List.of(a[2]), new ConsumerRebalanceListener() {
                public void onPartitionsAssigned(Collection<TopicPartition> ps) { change(List.of(), ps); }
                public void onPartitionsRevoked(Collection<TopicPartition> ps) { change(ps, List.of()); }
            });
            while (!closing) {
                Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
                for (var r : c.poll(Duration.ofMillis(200))) {
                    say("got " + r.partition() + " " + r.offset() + " " + now());
                    next.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
                }
                if (next.isEmpty()) continue;
                try {
                    c.commitSync(next);
                    next.forEach((tp, o) -> say("committed " + tp.partition() + " " + o.offset() + " " + now()));
                } catch (CommitFailedException | RebalanceInProgressException e) {
                    say("commit: " + e);
                }
            }
        }
        System.exit(0);
    }
}
