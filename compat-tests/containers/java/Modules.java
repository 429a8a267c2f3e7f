import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.Network;
import org.testcontainers.kafka.ConfluentKafkaContainer;
import org.testcontainers.redpanda.RedpandaContainer;
import org.testcontainers.utility.DockerImageName;

/** Starts the image by the Kafka modules of Testcontainers for Java, produces and consumes. One line for each case, PASS or FAIL. */
public class Modules {
    private record Case(GenericContainer<?> container, Supplier<String> bootstrap) {
        static Case apache(String image) {
            var c = new org.testcontainers.kafka.KafkaContainer(DockerImageName.parse(image));
            return new Case(c, c::getBootstrapServers);
        }

        static Case substitute(String image) {
            var c = new org.testcontainers.kafka.KafkaContainer(DockerImageName.parse(image).asCompatibleSubstituteFor("apache/kafka"));
            return new Case(c, c::getBootstrapServers);
        }

        static Case confluent(String image) {
            var c = new ConfluentKafkaContainer(image);
            return new Case(c, c::getBootstrapServers);
        }

        static Case listener() {
            var c = new org.testcontainers.kafka.KafkaContainer("apache/kafka:4.4.0").withListener("kafka:19092").withNetwork(Network.newNetwork());
            return new Case(c, c::getBootstrapServers);
        }

        @SuppressWarnings("deprecation")
        static Case old(String image, boolean kraft) {
            var c = new org.testcontainers.containers.KafkaContainer(DockerImageName.parse(image));
            if (kraft) {
                c.withKraft();
            }
            return new Case(c, c::getBootstrapServers);
        }

        static Case redpanda() {
            var c = new RedpandaContainer("docker.redpanda.com/redpandadata/redpanda:v24.3.1");
            return new Case(c, c::getBootstrapServers);
        }
    }

    public static void main(String[] args) {
        Map<String, Supplier<Case>> cases = new LinkedHashMap<>();
        cases.put("kafka.KafkaContainer apache/kafka:4.4.0", () -> Case.apache("apache/kafka:4.4.0"));
        cases.put("kafka.KafkaContainer apache/kafka-native:4.4.0", () -> Case.apache("apache/kafka-native:4.4.0"));
        cases.put("kafka.KafkaContainer with a listener of its own", Case::listener);
        cases.put("kafka.KafkaContainer with the image's own name as a substitute", () -> Case.substitute("localhost/kaja:4.4.0"));
        cases.put("ConfluentKafkaContainer cp-kafka:7.9.0", () -> Case.confluent("confluentinc/cp-kafka:7.9.0"));
        cases.put("ConfluentKafkaContainer cp-kafka:8.4.0", () -> Case.confluent("confluentinc/cp-kafka:8.4.0"));
        cases.put("containers.KafkaContainer cp-kafka:6.1.1, ZooKeeper", () -> Case.old("confluentinc/cp-kafka:6.1.1", false));
        cases.put("containers.KafkaContainer cp-kafka:7.9.0, withKraft", () -> Case.old("confluentinc/cp-kafka:7.9.0", true));
        cases.put("containers.KafkaContainer cp-kafka:7.0.0, withKraft, formats itself", () -> Case.old("confluentinc/cp-kafka:7.0.0", true));
        cases.put("RedpandaContainer", Case::redpanda);
        int failed = 0;
        for (var e : cases.entrySet()) {
            long begin = System.nanoTime();
            try {
                Case c = e.getValue().get();
                try (var container = c.container()) {
                    container.start();
                    System.out.printf("  ready after %.2f s%n", (System.nanoTime() - begin) / 1e9);
                    copyOne(c.bootstrap().get());
                }
                System.out.printf("PASS java %s (%.1f s)%n", e.getKey(), (System.nanoTime() - begin) / 1e9);
            } catch (Exception | Error x) {
                failed++;
                Throwable root = x;
                while (root.getCause() != null) {
                    root = root.getCause();
                }
                System.out.println("FAIL java " + e.getKey() + ": " + x + "; " + root);
            }
        }
        System.exit(failed > 0 ? 1 : 0);
    }

    private static void copyOne(String bootstrap) throws Exception {
        try (var producer = new KafkaProducer<>(Map.of("bootstrap.servers", bootstrap), new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>("modules", "hello")).get();
        }
        try (var consumer = new KafkaConsumer<>(Map.<String, Object>of("bootstrap.servers", bootstrap, "group.id", "g", "auto.offset.reset", "earliest"),
                new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("modules"));
            long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
            while (System.nanoTime() < end) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
                for (var r : records) {
                    if (!r.value().equals("hello")) {
                        throw new IllegalStateException("consumed " + r.value() + ", want hello");
                    }
                    return;
                }
            }
            throw new IllegalStateException("nothing consumed in 20 s");
        }
    }
}
