// Starts the image by Testcontainers' module for Node, produces and consumes. One line for each case, PASS or FAIL. NODE_HOME holds the packages.
import { createRequire } from "node:module";

const require = createRequire(process.env.NODE_HOME + "/");
const { KafkaContainer } = require("@testcontainers/kafka");
const { Kafka, logLevel } = require("kafkajs");

async function copyOne(host, port) {
  const kafka = new Kafka({ brokers: [`${host}:${port}`], logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: "modules", messages: [{ value: "hello" }] });
  await producer.disconnect();
  const consumer = kafka.consumer({ groupId: "g" });
  await consumer.connect();
  await consumer.subscribe({ topic: "modules", fromBeginning: true });
  const got = await new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error("nothing consumed in 20 s")), 20000).unref();
    consumer.run({ eachMessage: async ({ message }) => resolve(message.value.toString()) });
  });
  await consumer.disconnect();
  if (got !== "hello") throw new Error(`consumed ${got}, want hello`);
}

const cases = {
  "ZooKeeper mode": () => new KafkaContainer("confluentinc/cp-kafka:7.9.0"),
  withKraft: () => new KafkaContainer("confluentinc/cp-kafka:7.9.0").withKraft(),
  "withKraft, formats itself": () => new KafkaContainer("confluentinc/cp-kafka:7.0.0").withKraft(),
  "the image's own name": () => new KafkaContainer("localhost/kaja:8.4.0"),
  "8.4.0": () => new KafkaContainer("confluentinc/cp-kafka:8.4.0"),
};

let failed = 0;
for (const [name, make] of Object.entries(cases)) {
  const begin = performance.now();
  let container;
  try {
    container = await make().start();
    console.log(`  ready after ${((performance.now() - begin) / 1000).toFixed(2)} s`);
    await copyOne(container.getHost(), container.getMappedPort(9093));
    console.log(`PASS node ${name} (${((performance.now() - begin) / 1000).toFixed(1)} s)`);
  } catch (e) {
    failed++;
    console.log(`FAIL node ${name}: ${e.message}`);
  } finally {
    await container?.stop();
  }
}
process.exit(failed > 0 ? 1 : 0);
