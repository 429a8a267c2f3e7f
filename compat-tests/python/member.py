"""The member of a consumer group: member.py kafka-python|aiokafka BOOTSTRAP TOPIC GROUP. It talks as groups/member says."""
import asyncio
import os
import sys
import threading
import time

closing = threading.Event()
own = set()


def say(*what):
    print(*what, flush=True)


def now():
    return time.time_ns() // 1000


def listen():
    for line in sys.stdin:
        if line.strip() == "close":
            closing.set()
    if not closing.is_set():
        os._exit(1)


def change(minus, plus):
    own.difference_update(tp.partition for tp in minus)
    own.update(tp.partition for tp in plus)
    say("own", ",".join(map(str, sorted(own))))


def got(batches):
    """says what came and returns the offsets to commit."""
    after = {}
    for tp, records in batches.items():
        for r in records:
            say("got", tp.partition, r.offset, now())
            after[tp] = r.offset + 1
    return after


def committed(offsets):
    for tp, offset in offsets.items():
        say("committed", tp.partition, offset, now())


def kafka_python(bootstrap, topic, group):
    from kafka import ConsumerRebalanceListener, KafkaConsumer
    from kafka.errors import KafkaError
    from kafka.structs import OffsetAndMetadata

    class Listener(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked):
            change(revoked, ())

        def on_partitions_assigned(self, assigned):
            change((), assigned)

    c = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest", session_timeout_ms=6000, heartbeat_interval_ms=1000, max_poll_records=20, fetch_max_wait_ms=200)
    c.subscribe([topic], listener=Listener())
    while not closing.is_set():
        after = got(c.poll(timeout_ms=200))
        if not after:
            continue
        try:
            c.commit({tp: OffsetAndMetadata(o, "", -1) for tp, o in after.items()})
            committed(after)
        except KafkaError as e:
            say("commit:", repr(e))
    c.close()


async def aiokafka(bootstrap, topic, group):
    from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
    from aiokafka.errors import KafkaError

    class Listener(ConsumerRebalanceListener):
        async def on_partitions_revoked(self, revoked):
            change(revoked, ())

        async def on_partitions_assigned(self, assigned):
            change((), assigned)

    c = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest", session_timeout_ms=6000, heartbeat_interval_ms=1000, fetch_max_wait_ms=200)
    c.subscribe([topic], listener=Listener())
    await c.start()
    while not closing.is_set():
        after = got(await c.getmany(timeout_ms=200, max_records=20))
        if not after:
            continue
        try:
            await c.commit(after)
            committed(after)
        except KafkaError as e:
            say("commit:", repr(e))
    await c.stop()


threading.Thread(target=listen, daemon=True).start()
client, *rest = sys.argv[1:]
if client == "aiokafka":
    asyncio.run(aiokafka(*rest))
else:
    kafka_python(*rest)
