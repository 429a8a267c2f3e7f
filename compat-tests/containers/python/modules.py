"""Starts the image by Testcontainers' module for Python, produces and consumes. One line for each case, PASS or FAIL."""
import sys
import time

from kafka import KafkaConsumer, KafkaProducer
from testcontainers.kafka import KafkaContainer, RedpandaContainer


def copy_one(bootstrap):
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    producer.send("modules", b"hello").get(timeout=20)
    producer.close()
    consumer = KafkaConsumer("modules", bootstrap_servers=bootstrap, group_id="g", auto_offset_reset="earliest", consumer_timeout_ms=20000)
    got = next(iter(consumer)).value
    consumer.close()
    if got != b"hello":
        raise AssertionError(f"consumed {got!r}, want hello")


CASES = {
    "default, ZooKeeper mode": lambda: KafkaContainer(),
    "with_kraft": lambda: KafkaContainer("confluentinc/cp-kafka:7.6.0").with_kraft(),
    "with_kraft, 8.4.0": lambda: KafkaContainer("confluentinc/cp-kafka:8.4.0").with_kraft(),
    "the image's own name": lambda: KafkaContainer("localhost/kaja:4.4.0"),
    "redpanda": lambda: RedpandaContainer("docker.redpanda.com/redpandadata/redpanda:v24.3.1"),
}

failed = 0
for name, make in CASES.items():
    begin = time.monotonic()
    try:
        with make() as container:
            print(f"  ready after {time.monotonic() - begin:.2f} s")
            copy_one(container.get_bootstrap_server())
        print(f"PASS python {name} ({time.monotonic() - begin:.1f} s)")
    except Exception as e:  # every failure is a result
        failed += 1
        print(f"FAIL python {name}: {e!r}"[:2000])
sys.exit(failed > 0)
